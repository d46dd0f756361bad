"""The papers' experiments: reported numbers beside runs with printed, certified and no noise."""
