"""What was tried to break the library, one kind of attack a file; each file begins with its story.

Guarantees: `test_convexity` (bounds that need it), `test_null_records` (records that vanish),
`test_minimizer` (a solver that fails), `test_sums` and `test_extremes` (rounding, overflow),
`test_tiny_delta` (neglected mass).

What is said: `test_forged_certificates`, `test_trust` (code of a user's own), `test_preparation`,
`test_hopeless_fits`.

What one record can tell: `test_unreadable_records`, `test_single_records`, `test_labels`,
`test_shared_memory`.

State: `test_ledger_copies`, `test_rolled_back`, `test_outputs`, `test_interrupts`.

The helpers of `tests.algorithms.attacks` search for the worst neighbours of a plan.
"""
