# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stages and resources of the TNA program, next to the paper's; needs p4c's Tofino back end.
# VARIANTS=1: what each option costs, too.
.PHONY: p4-report
p4-report: .venv/.ready
	$(PY) p4/report.py --out out/p4 $(if $(VARIANTS),--variants)
