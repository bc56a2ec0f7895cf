// Package egress decides which addresses the service may call when somebody else has chosen the host: users choose URLs and
// servers that the service calls from its own network, and could reach through it what only the service can reach.
package egress

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"syscall"
)

// ErrBlocked reports that a URL resolves to an address that the server does not call.
var ErrBlocked = errors.New("address not allowed")

// Policy decides which addresses may be dialed: public ones or, with AllowPrivate, those of private networks, too.
type Policy struct{ AllowPrivate bool }

// metadata lists the addresses at which clouds serve the credentials of a machine. No setting
// allows them.
var metadata = addresses(
	"169.254.169.254",    // AWS, Azure, Google, Oracle, OpenStack and most others
	"169.254.170.2",      // AWS ECS, credentials of a task
	"169.254.170.23",     // AWS EKS, credentials of a pod
	"169.254.0.23",       // Tencent
	"169.254.42.42",      // Scaleway
	"100.100.100.200",    // Alibaba
	"100.96.0.96",        // Volcengine
	"168.63.129.16",      // Azure, wire server; looks public
	"192.0.0.192",        // Oracle, classic
	"fd00:ec2::254",      // AWS
	"fd00:ec2::23",       // AWS EKS
	"fd20:ce::254",       // Google
	"fd00:c1::a9fe:a9fe", // Oracle
	"fd00:42::42",        // Scaleway
	"fd00:a9fe:a9fe::1",  // Linode
	"fe80::a9fe:a9fe",    // OpenStack
)

// notUnicast lists addresses that do not belong to a single host. No setting allows them.
var notUnicast = prefixes(
	"224.0.0.0/4",        // multicast
	"255.255.255.255/32", // broadcast
	"ff00::/8",           // multicast
)

// private lists all addresses outside the public internet. AllowPrivateNetworks allows them. The
// unspecified addresses are here because they reach this machine.
var private = prefixes(
	"0.0.0.0/8",       // unspecified, "this network"
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // carrier-grade NAT
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // relays of 6to4, withdrawn
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarking
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved
	// In IPv6 only 2000::/3 is global unicast. These three prefixes cover the rest.
	"::/3",     // unspecified, loopback, IPv4-compatible, discard 100::/64, local NAT64 64:ff9b:1::/48
	"4000::/2", // unassigned, except segment routing 5f00::/16
	"8000::/1", // private fc00::/7, link-local fe80::/10, site-local fec0::/10
	// These are in 2000::/3 and not public.
	"2001::/23",     // protocol assignments: benchmarking 2001:2::/48, ORCHID 2001:10::/28 and 2001:20::/28
	"2001:db8::/32", // documentation
	"3fff::/20",     // documentation
)

// Prefixes of IPv6 addresses that embed an IPv4 address.
var (
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// blocks reports whether addr may not be dialed. An address that embeds others is blocked if any of
// them is.
func (p Policy) blocks(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" && !p.AllowPrivate {
		return true
	}
	addr = addr.WithZone("").Unmap()
	if slices.Contains(metadata, addr) || anyContains(notUnicast, addr) || slices.ContainsFunc(embedded(addr), p.blocks) {
		return true
	}
	// For these two only the embedded addresses count. IPv6-only networks reach all of IPv4 through NAT64.
	if nat64.Contains(addr) || teredo.Contains(addr) {
		return false
	}
	return !p.AllowPrivate && anyContains(private, addr)
}

// embedded returns the IPv4 addresses that a translator or a tunnel may take addr for.
func embedded(addr netip.Addr) []netip.Addr {
	if addr.Is4() {
		return nil
	}
	b := addr.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	var found []netip.Addr
	switch {
	case compatible.Contains(addr), translated.Contains(addr), nat64.Contains(addr):
		found = append(found, last)
	case localNAT64.Contains(addr):
		// RFC 6052: the position depends on the prefix length (48, 56, 64, 96). Byte 8 is skipped.
		found = append(found, netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}),
			netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),
			netip.AddrFrom4([4]byte(b[9:])), last)
	case sixToFour.Contains(addr):
		found = append(found, netip.AddrFrom4([4]byte(b[2:])))
	case teredo.Contains(addr): // its server, and its client with all bits inverted
		found = append(found, netip.AddrFrom4([4]byte(b[4:])), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP, in any network
		found = append(found, last)
	}
	return found
}

// Control implements net.Dialer.ControlContext. It checks every address right before it is dialed,
// after name resolution, and returns ErrBlocked for addresses that the policy blocks. An earlier
// lookup of the name is irrelevant.
func (p Policy) Control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || p.blocks(to.Addr()) {
		return ErrBlocked
	}
	return nil
}

func anyContains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func addresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
