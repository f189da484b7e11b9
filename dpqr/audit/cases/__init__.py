"""Cases: what is attacked, from single mechanisms to whole releases and their files."""
