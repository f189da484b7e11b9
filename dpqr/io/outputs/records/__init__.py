"""The JSON documents of a run: its plan, its public record, and the cards made from it for catalogues."""
