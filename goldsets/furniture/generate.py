"""Generate the furniture gold set: catalog.jsonl, queries.jsonl and qrels.trec, byte for byte from one seed.

    python goldsets/furniture/generate.py            write the three files
    python goldsets/furniture/generate.py --check    exit 1 if a file on disk differs

The words come from vocabulary.toml. Grades are computed from the attributes of the products, never from their
text, and only pooled products are judged: what two simple rankers found, and every exact product. Standard
library only, so that the files do not depend on the version of anything but this script.
"""

import argparse
import json
import math
import os
import random
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
SEED: Final = 20260

# The catalog.
NO_DESCRIPTION: Final = 0.08
CUT_SHORT: Final = 0.15
ACCESSORIES_PER_CLASS: Final = 15
SPARE_PART: Final = "spare part"
MODIFIERS: Final = ("width", "style", "color", "material")

# The queries; shares are those of the queries for which there is such a choice.
QUERIES_PER_STRATUM: Final = 44
TRAIN_SHARE: Final = 0.6
MOST_EXACT: Final = 8
OF_ANY_CLASS: Final = 0.55
BY_WIDTH: Final = 0.15
IN_CUSTOMER_WORDS: Final = 0.6
FOR_SPARE_PARTS: Final = 0.25
OF_POPULAR_MODELS: Final = 0.6
MISSPELT_PLAIN: Final = 0.4
SHORT, LONG = 2, 7
MOST_DESCRIBED: Final = 2

# The judgments.
IRRELEVANT, PARTIAL, EXACT = 0, 1, 2
POOL_DEPTH: Final = 20

Words = dict[str, Any]


# --- what is sold ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """A family of classes that could stand in for one another."""

    name: str
    plural: str
    prefix: str
    category: str
    rooms: Sequence[str]
    materials: Sequence[str]
    colors: Sequence[str]
    widths: Sequence[int]
    features: Sequence[str]
    classes: Sequence[str]

    def plural_of(self, class_: str) -> str:
        """Return the plural of one of this kind's classes."""
        return class_.removesuffix(self.name) + self.plural if class_.endswith(self.name) else class_ + "s"


@dataclass(frozen=True, slots=True)
class Product:
    """One item of the catalog, with the kind that only grading needs."""

    kind: str
    class_: str
    category: str
    name: str
    attributes: dict[str, str]
    description: str = ""
    fits: tuple[str, ...] = ()
    doc_id: str = ""

    @property
    def model(self) -> str:
        """The model number, unique in the catalog."""
        return self.attributes["model"]

    @property
    def modifiers(self) -> dict[str, str]:
        """The attributes that a customer may ask for by value."""
        return {key: self.attributes[key] for key in MODIFIERS if key in self.attributes}

    def row(self) -> dict[str, Any]:
        """Return the catalog's row; the order of the keys is part of the format."""
        return {
            "doc_id": self.doc_id,
            "name": self.name,
            "class": self.class_,
            "category": self.category,
            "description": self.description,
            "attributes": self.attributes,
        }

    def text(self) -> str:
        """Return every field of the row as one text."""
        return f"{self.title()} {self.description}"

    def title(self) -> str:
        """Return every field but the description as one text."""
        return " ".join([self.name, self.class_, self.category, *self.attributes.values()])


def read_kinds(words: Words) -> list[Kind]:
    """Return the kinds of vocabulary.toml, with their lists of materials and colors filled in."""
    return [
        Kind(
            name=entry["name"],
            plural=entry.get("plural", entry["name"] + "s"),
            prefix=entry["prefix"],
            category=entry["category"],
            rooms=entry["rooms"],
            materials=words["materials"][entry["materials"]],
            colors=words["colors"][entry["colors"]],
            widths=entry["widths"],
            features=entry["features"],
            classes=entry["classes"],
        )
        for entry in words["kinds"]
    ]


class Workshop:
    """Draws the products at random."""

    def __init__(self, words: Words, kinds: Sequence[Kind], rng: random.Random) -> None:
        self.words = words
        self.kinds = kinds
        self.rng = rng

    def catalog(self) -> list[Product]:
        """Return the products in a shuffled order, so that their ids say nothing about their class."""
        furniture = [product for kind in self.kinds for product in self._products_of(kind)]
        products = furniture + self._accessories(furniture)
        self.rng.shuffle(products)
        return [replace(product, doc_id=f"F{number:04d}") for number, product in enumerate(products, start=1)]

    def _products_of(self, kind: Kind) -> Iterable[Product]:
        """Yield two ranges per class; a range's variants differ from its first in exactly one attribute."""
        numbers = list(self.words["model_numbers"])
        self.rng.shuffle(numbers)
        for class_ in kind.classes:
            for _ in range(2):
                collection, number = self.rng.choice(self.words["collections"]), numbers.pop()
                for variant, modifiers in enumerate(self._range_of(kind)):
                    values = {**modifiers, "model": f"{kind.prefix}-{number + variant}"}
                    product = Product(
                        kind=kind.name,
                        class_=class_,
                        category=kind.category,
                        name=self._name(collection, class_, values),
                        attributes=values,
                    )
                    use = "" if variant else self.words["uses"].get(class_, "")
                    yield replace(product, description=self._description(product, kind, collection, use))

    def _range_of(self, kind: Kind) -> list[dict[str, str]]:
        choices: dict[str, Sequence[str]] = {
            "color": kind.colors,
            "material": kind.materials,
            "width": [f"{width} cm" for width in kind.widths],
            "style": self.words["styles"],
        }
        first = {key: self.rng.choice(values) for key, values in choices.items()}
        variants = [first]
        size = self.rng.choice((2, 3, 3, 4))
        while len(variants) < size:
            attribute = self.rng.choice(("color", "color", "material", "width", "style"))
            variant = {**first, attribute: self.rng.choice(choices[attribute])}
            if variant not in variants:
                variants.append(variant)
        return variants

    def _name(self, collection: str, class_: str, values: dict[str, str]) -> str:
        template: str = self.rng.choice(self.words["names"]["product"])
        slots = {key: values[key] for key in ("color", "material", "width")}
        slots |= {"collection": collection, "class": class_, "Style": _capitalized(values["style"])}
        return template.format(**slots)

    def _description(self, product: Product, kind: Kind, collection: str, use: str) -> str:
        """Return three to seven sentences, of which some speak of other products; or a listing cut short."""
        others = [other for other in self.kinds if other.name != kind.name]
        other, third = self.rng.choice(others), self.rng.choice(others)
        other_class = self.rng.choice(other.classes)
        slots = {
            **product.modifiers,
            "collection": collection,
            "class": product.class_,
            "room": self.rng.choice(kind.rooms),
            "feature": self.rng.choice(kind.features),
            "other_class": other_class,
            "other_plural": other.plural_of(other_class),
            "other_material": self.rng.choice(other.materials),
            "other_color": self.rng.choice(other.colors),
            "third_plural": third.plural_of(self.rng.choice(third.classes)),
        }
        parts = ["opening", "body", "feature"]
        parts += ["mention"] * self.rng.choice((0, 1, 2, 2)) + ["closing"] * self.rng.choice((0, 1))
        sentences = [self.rng.choice(self.words["sentences"][part]).format(**slots) for part in parts]
        return self._listing([use, *sentences] if use else sentences)

    def _listing(self, sentences: Sequence[str]) -> str:
        """Return the sentences as a shop's listing would show them: whole, cut short, or not at all."""
        text = " ".join(dict.fromkeys(sentences))
        fate, share = self.rng.random(), self.rng.uniform(0.4, 0.8)
        if fate < NO_DESCRIPTION:
            return ""
        if fate >= NO_DESCRIPTION + CUT_SHORT:
            return text
        kept = text.split()[: max(4, int(len(text.split()) * share))]
        while kept[-1][-1] in ".?!,;:":
            kept.pop()
        return " ".join(kept) + " ..."

    def _accessories(self, furniture: Sequence[Product]) -> list[Product]:
        """Return parts and covers, whose texts name the models that they fit."""
        entry = self.words["accessories"]
        models = defaultdict(list)
        for product in furniture:
            models[product.kind].append(product.model)
        popular = {kind: self.rng.sample(models[kind], 2) for kind in models}
        accessories: list[Product] = []
        for class_entry in entry["classes"]:
            candidates = [model for kind in class_entry["fits"] for model in popular[kind]]
            materials = self.words["materials"][class_entry["materials"]]
            for _ in range(ACCESSORIES_PER_CLASS):
                model = f"{entry['prefix']}-{1001 + 7 * len(accessories)}"
                fits = tuple(sorted(self.rng.sample(candidates, self.rng.choice((1, 2, 2, 3)))))
                values = {
                    "color": self.rng.choice(self.words["colors"]["metal"]),
                    "material": self.rng.choice(materials),
                    "model": model,
                    "fits": ", ".join(fits),
                }
                accessories.append(self._accessory(class_entry["name"], values, fits))
        return accessories

    def _accessory(self, class_: str, values: dict[str, str], fits: tuple[str, ...]) -> Product:
        entry, templates = self.words["accessories"], self.words["sentences"]
        names = (f"{class_} for {fits[0]}", f"{values['color']} {class_}", f"{class_}, {values['material']}")
        sentences = [
            self.rng.choice(templates["fits"]).format(models=values["fits"]),
            self.rng.choice(templates["feature"]).format(feature=self.rng.choice(entry["features"])),
        ]
        return Product(
            kind=SPARE_PART,
            class_=class_,
            category=entry["category"],
            name=_capitalized(self.rng.choice(names)),
            description=self._listing(sentences),
            attributes=values,
            fits=fits,
        )


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- what is asked --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """What a customer has in mind; `kind` None is something that no shop of this kind sells."""

    kind: str | None
    class_: str | None = None
    modifiers: dict[str, str] = field(default_factory=dict)
    model: str | None = None
    fits: str | None = None

    def grade(self, product: Product) -> int:
        """Return exact if all that was asked for holds, partial if one thing does not, else irrelevant."""
        if product.kind != self.kind:
            return IRRELEVANT
        wrong = sum(product.attributes.get(key) != value for key, value in self.modifiers.items())
        if self.model is not None:
            # The modifiers are those of the product named, so its variants are one step away from it.
            if product.model == self.model:
                return EXACT
            return PARTIAL if product.class_ == self.class_ and wrong <= 1 else IRRELEVANT
        wrong += self.class_ is not None and product.class_ != self.class_
        wrong += self.fits is not None and self.fits not in product.fits
        return (EXACT, PARTIAL)[wrong] if wrong <= 1 else IRRELEVANT


class Draft(NamedTuple):
    """A query before it has an id and a split."""

    text: str
    request: Request
    slices: tuple[str, ...] = ()
    must: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """One row of queries.jsonl and the request behind it."""

    query_id: str
    stratum: str
    split: str
    draft: Draft

    def row(self) -> dict[str, Any]:
        """Return the row; the order of the keys is part of the format."""
        words = len(self.draft.text.split())
        length = ["short"] if words <= SHORT else ["long"] if words >= LONG else []
        row: dict[str, Any] = {
            "query_id": self.query_id,
            "query": self.draft.text,
            "stratum": self.stratum,
            "split": self.split,
            "slices": sorted([*self.draft.slices, *length]),
            "answerable": self.stratum != "no_match",
            "synthetic": True,
        }
        return {**row, "must": True} if self.draft.must else row


class Customer:
    """Draws queries at random; every method but the constructor returns new drafts."""

    def __init__(
        self, words: Words, kinds: Sequence[Kind], catalog: Sequence[Product], rng: random.Random
    ) -> None:
        self.words = words
        self.catalog = catalog
        self.rng = rng
        self.kinds = {kind.name: kind for kind in kinds}
        self.furniture = [product for product in catalog if product.kind != SPARE_PART]
        self.accessories = [product for product in catalog if product.kind == SPARE_PART]
        self.vocabulary = {token for product in catalog for token in tokens(product.text())}

    def exact(self, request: Request) -> list[Product]:
        """Return the products that are exactly what was asked for."""
        return [product for product in self.catalog if request.grade(product) == EXACT]

    def plain_class(self) -> Draft:
        """Ask for a class and nothing else."""
        kind = self.kinds[self.rng.choice(self.furniture).kind]
        return self._phrase("plain_class", Request(kind.name, self.rng.choice(kind.classes)))

    def must_answer(self, class_: str, *, by_model: bool) -> Draft:
        """Ask for a class as it is written, or for the first product of a class by its model."""
        product = next(p for p in self.furniture if p.class_ in (class_, class_.removesuffix("s")))
        if by_model:
            return Draft(product.model, self._by_model(product), must=True)
        slices = ("plural",) if class_ != product.class_ else ()
        return Draft(class_, Request(product.kind, product.class_), slices, must=True)

    def several_modifiers(self) -> Draft:
        """Ask for two or three attributes of a class, or of any class of a kind."""
        while True:
            product = self.rng.choice(self.furniture)
            request = self._modified(product, {key: product.attributes[key] for key in self._asked()})
            if len(self.exact(request)) <= MOST_EXACT:
                return self._phrase("several_modifiers", request)

    def exact_identifier(self) -> Draft:
        """Ask for a product by its model number, or for a part that fits one."""
        if self.rng.random() < FOR_SPARE_PARTS:
            part = self.rng.choice(self.accessories)
            model = self.rng.choice(part.fits)
            template: str = self.rng.choice(self.words["templates"]["spare_part"])
            text = template.format(part=part.class_, model=model)
            request = Request(SPARE_PART, part.class_, fits=model)
            return Draft(text, request, ("spare_part",))
        named = {model for part in self.accessories for model in part.fits}
        wanted = self.rng.random() < OF_POPULAR_MODELS
        product = self.rng.choice([p for p in self.furniture if (p.model in named) == wanted])
        spellings = (product.model,) * 4 + (
            product.model.replace("-", "").lower(),
            product.model.replace("-", " "),
        )
        model = self.rng.choice(spellings)
        template = self.rng.choice(self.words["templates"]["exact_identifier"])
        text = template.format(model=model, color=product.attributes["color"], **{"class": product.class_})
        return Draft(text, self._by_model(product), () if model == product.model else ("respelt_identifier",))

    def misspelling(self) -> Draft:
        """Ask for a class or for modifiers with one or two typing errors."""
        correct = self.plain_class() if self.rng.random() < MISSPELT_PLAIN else self.several_modifiers()
        in_modifiers = {
            word.lower() for value in correct.request.modifiers.values() for word in value.split()
        }
        parts = correct.text.split()
        places = [
            i
            for i, word in enumerate(parts)
            if len(word) >= 5 and self._can_be_misspelt(word, correct.request)
        ]
        self.rng.shuffle(places)
        slices = set(correct.slices)
        for place in places[: self.rng.choice((1, 1, 2))]:
            slices.add("typo_in_modifier" if parts[place].lower() in in_modifiers else "typo_in_class")
            parts[place] = self._misspell(parts[place])
        return Draft(" ".join(parts), correct.request, tuple(sorted(slices)))

    def paraphrases(self) -> list[Draft]:
        """Return the hand-written paraphrases, after checking how little each shares with its products."""
        ignored = set(self.words["function_words"].split())
        drafts = []
        for class_, texts in self.words["paraphrases"].items():
            kind = next(product.kind for product in self.furniture if product.class_ == class_)
            request = Request(kind, class_)
            products = self.exact(request)
            titles = {token for product in products for token in tokens(product.title())}
            described = Counter(token for product in products for token in set(tokens(product.description)))
            for text in texts:
                content = sorted(set(tokens(text)) - ignored)
                if shared := [word for word in content if word in titles or described[word] > MOST_DESCRIBED]:
                    raise ValueError(
                        f"paraphrase {text!r} of {class_!r} shares {shared}; say it in other words"
                    )
                drafts.append(Draft(text, request))
        return drafts

    def no_match(self) -> list[Draft]:
        """Return queries for products, combinations of modifiers and models that do not exist."""
        absent = [Draft(text, Request(None), ("absent_product",)) for text in self.words["absent"]["queries"]]
        rest = QUERIES_PER_STRATUM - len(absent)
        combinations: dict[str, Draft] = {}
        while len(combinations) < rest * 2 // 3:
            product = self.rng.choice(self.furniture)
            kind = self.kinds[product.kind]
            wanted = {"color": self.rng.choice(kind.colors), "material": self.rng.choice(kind.materials)}
            request = Request(kind.name, product.class_, wanted)
            grades = {request.grade(other) for other in self.catalog}
            if EXACT not in grades and PARTIAL in grades:
                draft = self._phrase("several_modifiers", request)
                combinations[draft.text] = draft._replace(slices=(*draft.slices, "absent_combination"))
        models: dict[str, Draft] = {}
        existing = {product.model for product in self.catalog}
        while len(models) < rest - len(combinations):
            product = self.rng.choice(self.furniture)
            model = product.model[:-1] + self.rng.choice("56789")
            if model not in existing:
                text = self.rng.choice(self.words["templates"]["exact_identifier"][:4]).format(model=model)
                request = Request(product.kind, product.class_, product.modifiers, model=model)
                models[text] = Draft(text, request, ("absent_model",))
        return [*absent, *combinations.values(), *models.values()]

    def _asked(self) -> list[str]:
        """Return two or three modifiers in the order in which English puts them, seldom with a width."""
        asked = set(self.rng.sample(("style", "color", "material"), self.rng.choice((2, 2, 3))))
        if self.rng.random() < BY_WIDTH:
            asked = {*sorted(asked)[:1], "width"}
        return [key for key in MODIFIERS if key in asked]

    def _modified(self, product: Product, modifiers: dict[str, str]) -> Request:
        return Request(product.kind, None if self.rng.random() < OF_ANY_CLASS else product.class_, modifiers)

    def _by_model(self, product: Product) -> Request:
        return Request(product.kind, product.class_, product.modifiers, model=product.model)

    def _phrase(self, templates: str, request: Request) -> Draft:
        kind = self.kinds[str(request.kind)]
        thing = request.class_ or kind.name
        template: str = self.rng.choice(self.words["templates"][templates])
        modifiers = list(request.modifiers.values())
        foreign = [i for i, value in enumerate(modifiers) if value in self.words["synonyms"]]
        slices = ["plural"] if "{things}" in template else []
        if foreign and self.rng.random() < IN_CUSTOMER_WORDS:
            place = self.rng.choice(foreign)
            modifiers[place] = self.words["synonyms"][modifiers[place]]
            slices.insert(0, "customer_word")
        text = template.format(
            thing=thing,
            things=kind.plural_of(thing),
            room=self.rng.choice(kind.rooms),
            mods=" ".join(modifiers),
        )
        return Draft(text, request, tuple(slices))

    def _can_be_misspelt(self, word: str, request: Request) -> bool:
        kind = self.kinds[str(request.kind)]
        thing = request.class_ or kind.name
        return word in f"{thing} {kind.plural_of(thing)} {' '.join(request.modifiers.values())}".split()

    def _misspell(self, word: str) -> str:
        """Return the word with one typing error that does not turn it into another word of the catalog."""
        while True:
            at = self.rng.randrange(1, len(word) - 1)
            slip: Callable[[str, int], str] = self.rng.choice((_swap, _drop, _double, _mistake_vowel))
            wrong = slip(word, at)
            if wrong != word and not set(tokens(wrong)) <= self.vocabulary:
                return wrong


def _swap(word: str, at: int) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _drop(word: str, at: int) -> str:
    return word[:at] + word[at + 1 :]


def _double(word: str, at: int) -> str:
    return word[:at] + word[at] + word[at:]


def _mistake_vowel(word: str, at: int) -> str:
    return word[:at] + word[at].translate(str.maketrans("aeiou", "eaeuo")) + word[at + 1 :]


def build_queries(customer: Customer, rng: random.Random) -> list[Query]:
    """Return the queries of every stratum; queries that must be answered are always in the train split."""
    must = customer.words["must"]
    strata = {
        "plain_class": _distinct(
            customer.plain_class, [customer.must_answer(class_, by_model=False) for class_ in must["plain"]]
        ),
        "several_modifiers": _distinct(customer.several_modifiers, []),
        "exact_identifier": _distinct(
            customer.exact_identifier,
            [customer.must_answer(class_, by_model=True) for class_ in must["model_of"]],
        ),
        "misspelling": _distinct(customer.misspelling, []),
        "paraphrase": customer.paraphrases(),
        "no_match": customer.no_match(),
    }
    queries = []
    for stratum, drafts in strata.items():
        rng.shuffle(drafts)
        drafts.sort(key=lambda draft: not draft.must)
        train = round(TRAIN_SHARE * len(drafts))
        for number, draft in enumerate(drafts, start=1):
            split = "train" if number <= train else "test"
            queries.append(Query(f"{stratum.replace('_', '-')}-{number:02d}", stratum, split, draft))
    return queries


def _distinct(draw: Callable[[], Draft], first: Iterable[Draft]) -> list[Draft]:
    drafts = {draft.text: draft for draft in first}
    while len(drafts) < QUERIES_PER_STRATUM:
        draft = draw()
        drafts.setdefault(draft.text, draft)
    return list(drafts.values())


# --- what was judged ------------------------------------------------------------------------------


def tokens(text: str) -> list[str]:
    """Return the lower-case words and numbers of a text."""
    return re.findall(r"\w+", text.lower())


def singular_tokens(text: str) -> list[str]:
    """Return the tokens with plural endings taken off, roughly."""
    return [_singular(token) for token in tokens(text)]


def _singular(token: str) -> str:
    if token.endswith("ves"):
        return token[:-3] + "f"
    if token.endswith(("sses", "xes", "ches", "shes")):
        return token[:-2]
    return token[:-1] if token.endswith("s") and not token.endswith("ss") else token


class Ranker:
    """BM25 (Lucene's form, k1 1.5, b 0.75) over one text per product."""

    def __init__(self, texts: dict[str, str], tokenize: Callable[[str], list[str]]) -> None:
        self._tokenize = tokenize
        counts = {doc_id: Counter(tokenize(text)) for doc_id, text in texts.items()}
        lengths = {doc_id: count.total() for doc_id, count in counts.items()}
        mean = sum(lengths.values()) / len(lengths)
        postings: dict[str, dict[str, float]] = defaultdict(dict)
        for doc_id, count in counts.items():
            norm = 1.5 * (0.25 + 0.75 * lengths[doc_id] / mean)
            for token, times in count.items():
                postings[token][doc_id] = times / (times + norm)
        self._weights = {}
        for token, docs in postings.items():
            rarity = math.log(1 + (len(texts) - len(docs) + 0.5) / (len(docs) + 0.5))
            self._weights[token] = {doc_id: rarity * weight for doc_id, weight in docs.items()}

    def top(self, query: str, depth: int) -> list[str]:
        """Return the best product ids; rounding keeps the order alike on every platform's logarithm."""
        scores: dict[str, float] = defaultdict(float)
        for token in self._tokenize(query):
            for doc_id, weight in self._weights.get(token, {}).items():
                scores[doc_id] += weight
        return sorted(scores, key=lambda doc_id: (-round(scores[doc_id], 9), doc_id))[:depth]


def judge(queries: Sequence[Query], catalog: Sequence[Product]) -> Iterable[tuple[str, str, int]]:
    """Yield (query_id, doc_id, grade) for the pool of each query, sorted by both ids."""
    rankers = (
        Ranker({product.doc_id: product.name for product in catalog}, tokens),
        Ranker({product.doc_id: product.text() for product in catalog}, singular_tokens),
    )
    for query in sorted(queries, key=lambda query: query.query_id):
        request = query.draft.request
        grades = {product.doc_id: request.grade(product) for product in catalog}
        pool = {doc_id for doc_id, grade in grades.items() if grade == EXACT}
        if bool(pool) != (query.stratum != "no_match"):
            raise ValueError(f"{query.query_id} {query.draft.text!r} has {len(pool)} exact products")
        for ranker in rankers:
            pool.update(ranker.top(query.draft.text, POOL_DEPTH))
        yield from ((query.query_id, doc_id, grades[doc_id]) for doc_id in sorted(pool))


# --- files ----------------------------------------------------------------------------------------


def generate() -> dict[str, bytes]:
    """Return the contents of each file by its name."""
    words: Words = tomllib.loads((HERE / "vocabulary.toml").read_text(encoding="utf-8"))
    kinds = read_kinds(words)
    catalog = Workshop(words, kinds, random.Random(f"{SEED} catalog")).catalog()
    rng = random.Random(f"{SEED} queries")
    queries = build_queries(Customer(words, kinds, catalog, rng), rng)
    judgments = [f"{query_id} 0 {doc_id} {grade}" for query_id, doc_id, grade in judge(queries, catalog)]
    return {
        "catalog.jsonl": _lines(json.dumps(product.row(), ensure_ascii=False) for product in catalog),
        "queries.jsonl": _lines(json.dumps(query.row(), ensure_ascii=False) for query in queries),
        "qrels.trec": _lines(judgments),
    }


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode("utf-8")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that no reader ever sees half of it."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description="Generate the furniture gold set beside this script.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    check: bool = parser.parse_args(arguments).check
    differing = []
    for name, content in generate().items():
        path = HERE / name
        if path.is_file() and path.read_bytes() == content:
            continue
        differing.append(name)
        if not check:
            write_whole(path, content)
    verb = "differs" if check else "written"
    for name in differing:
        print(f"{verb}: {name}")
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
