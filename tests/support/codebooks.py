"""The sample codebooks, and what is read of a codebook as plain JSON."""

from pathlib import Path

from dpqr.tables.codebooks.columns import outline_document

SAMPLES = Path(__file__).parents[2] / "sample_data" / "codebooks"


def fields_of(codebook):
    """The fields of a codebook, by name."""
    return {field.pop("name"): field for field in outline_document(codebook.outline)["fields"]}
