# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A verifier log of hundreds of lines comes down to the one that matters."""

from __future__ import annotations

from netclone_host.kernel import verifier_log

LOG = """\
0: R1=ctx(off=0,imm=0) R10=fp0
; void *data = (void *)(long)ctx->data;
0: (61) r2 = *(u32 *)(r1 +0)          ; R1=ctx(off=0,imm=0) R2_w=pkt(off=0,r=0,imm=0)
; return *(char *)data;
1: (71) r0 = *(u8 *)(r2 +0)
invalid access to packet, off=0 size=1, R2(id=0,off=0,r=0)
R2 offset is outside of the packet
processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
""".splitlines()


def test_the_verdict_and_where() -> None:
    line = verifier_log.line_that_matters(LOG)
    assert line == (
        "R2 offset is outside of the packet (at: return *(char *)data;); "
        "6 lines left out, -v shows them"
    )


def test_without_source_lines_the_instruction_stands() -> None:
    log = [line for line in LOG if not line.startswith(";")]
    assert "(at: 1: (71) r0 = *(u8 *)(r2 +0))" in verifier_log.line_that_matters(log)


def test_an_empty_log() -> None:
    assert verifier_log.line_that_matters([]) == ""


def test_the_log_is_found_among_libbpfs_messages() -> None:
    message = "libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\nfirst\nlast\n-- END PROG LOAD LOG --"
    assert verifier_log.from_libbpf(["libbpf: other", message]) == ["first", "last"]
    assert verifier_log.from_libbpf(["libbpf: other"]) == []
