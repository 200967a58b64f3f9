"""Reports: values first, then printers that only format."""
