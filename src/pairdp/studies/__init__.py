"""The papers' tables and figures, rerun: figures of the paper, printed noise, certified noise."""
