"""Other ways to compute privacy curves, which verification compares with the accounting."""
