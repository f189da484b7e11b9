"""Update rules: public in, public out. Nothing here can reach private data, noise or the gate."""
