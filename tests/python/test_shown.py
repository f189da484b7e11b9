"""Texts that a notebook shows."""

from dpqr.python.shown import Receipt


def test_a_receipt_is_a_text_with_its_own_html():
    receipt = Receipt.of(lambda: "1 < 2\n[bold]x[/bold]")
    assert receipt == "1 < 2\n[bold]x[/bold]"
    assert repr(receipt) == receipt
    assert "1 &lt; 2" in receipt._repr_html_()
    assert receipt._repr_html_().endswith("</pre>")
