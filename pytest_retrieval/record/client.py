"""The client of an OpenAI-compatible server: one request, retries with back-off, and nothing secret kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, final
from urllib.parse import urlsplit, urlunsplit

from pytest_retrieval.errors import InputError, MissingExtraError, RecordingError
from pytest_retrieval.record.reading import fault_of, parsed

__all__ = ["ChatClient"]

_RETRIED = (408, 409, 425, 429, 500, 502, 503, 504)
_SHOWN = 300


@final
class ChatClient:
    """Asks a server's chat completions.

    Parameters
    ----------
    url
        The server's address, up to and with ``/v1``. User and password in it are sent and never kept.
    key
        API key; sent as a bearer token and never kept.
    retries
        How often a request is repeated after an error that may pass; waits double from half a second, and a
        server's Retry-After is heeded.
    timeout
        Seconds to wait for a reply.

    Raises
    ------
    InputError
        The address is none.
    MissingExtraError
        urllib3 is not installed, which the extra ``record`` brings.
    """

    def __init__(self, url: str, *, key: str | None = None, retries: int = 5, timeout: float = 300.0) -> None:
        try:
            import urllib3
        except ImportError:
            raise MissingExtraError(
                "recording needs urllib3: pip install 'pytest-retrieval[record]'"
            ) from None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"url is {without_credentials(url)!r}; write it as http://127.0.0.1:8080/v1")
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        elif parts.username:
            login = f"{parts.username}:{parts.password or ''}"
            headers |= urllib3.util.make_headers(basic_auth=login)
        self._url = without_credentials(url).rstrip("/") + "/chat/completions"
        self._pool = urllib3.PoolManager(
            headers=headers,
            timeout=urllib3.Timeout(connect=10.0, read=timeout),
            retries=urllib3.Retry(
                total=retries,
                backoff_factor=0.5,
                status_forcelist=_RETRIED,
                allowed_methods=None,
                raise_on_status=False,
                redirect=0,
            ),
            maxsize=32,
        )

    def ask(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the server's reply to one request.

        Raises
        ------
        RecordingError
            The server cannot be reached, refuses the request, or answers with something else than JSON.
        """
        import urllib3

        try:
            reply = self._pool.request("POST", self._url, body=json.dumps(body).encode())
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise RecordingError(f"{self._url} cannot be reached: {reason}") from None
        text = reply.data.decode("utf-8", "replace")
        if reply.status != 200:
            raise RecordingError(f"{self._url} answered {reply.status}: {text[:_SHOWN]}")
        try:
            value = parsed(text, finite=False)  # some servers write NaN among log-probabilities
        except ValueError:
            raise RecordingError(f"{self._url} answered what is no JSON: {text[:_SHOWN]}") from None
        fault = fault_of(value)
        if fault:
            raise RecordingError(f"{self._url} answered {fault}: {text[:_SHOWN]}")
        return dict(value)  # type: ignore[call-overload, no-any-return]


def without_credentials(url: str) -> str:
    """Return an address without user and password.

    Examples
    --------
    >>> without_credentials("https://me:secret@example.org/v1")
    'https://example.org/v1'
    """
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
