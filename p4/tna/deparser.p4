/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef NETCLONE_TNA_DEPARSER
#define NETCLONE_TNA_DEPARSER

control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t intrinsic) {
    Checksum() ipv4_checksum;
    Checksum() udp_checksum;
    Checksum() tcp_checksum;

    apply {
        if (meta.nc.ipv4_changed == 1) {
            hdr.ipv4.checksum = ipv4_checksum.update(
                { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len,
                  hdr.ipv4.identification, hdr.ipv4.reserved, hdr.ipv4.dont_fragment,
                  hdr.ipv4.more_fragments, hdr.ipv4.fragment_offset, hdr.ipv4.ttl,
                  hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        }
        if (meta.nc.udp_changed == 1) {
            hdr.udp.checksum = udp_checksum.update(
                { hdr.ipv4.dst_addr, hdr.ipv6.dst_addr, hdr.netclone.switch_id,
                  hdr.netclone.flags, hdr.netclone.type, hdr.netclone.req_id, hdr.netclone.sid,
                  hdr.netclone.reserved0, hdr.netclone.clo, meta.nc.l4_residual }, true);
        }
        if (meta.nc.tcp_changed == 1) {
            hdr.tcp.checksum = tcp_checksum.update(
                { hdr.ipv4.dst_addr, hdr.ipv6.dst_addr, hdr.netclone.switch_id,
                  hdr.netclone.flags, hdr.netclone.type, hdr.netclone.req_id, hdr.netclone.sid,
                  hdr.netclone.reserved0, hdr.netclone.clo, meta.nc.l4_residual });
        }
        pkt.emit(hdr);
    }
}

#endif
