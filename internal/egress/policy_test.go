package egress

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
)

// verdict says who may call an address.
type verdict int

const (
	open   verdict = iota // everyone
	inside                // only with AllowPrivate
	never                 // nobody
)

func (v verdict) String() string { return [...]string{"open", "inside", "never"}[v] }

// blocked is the result that a policy must have.
func (v verdict) blocked(policy Policy) bool {
	return v == never || v == inside && !policy.AllowPrivate
}

var policies = []Policy{{}, {AllowPrivate: true}}

// ranges repeats the ranges of the policy independently, with their neighbors. A range of one
// address is a metadata service or broadcast.
var ranges = []struct {
	prefix              string
	is, before, after   verdict
	noBefore, noneAfter bool
}{
	{prefix: "0.0.0.0/8", is: inside, noBefore: true, after: open},
	{prefix: "10.0.0.0/8", is: inside, before: open, after: open},
	{prefix: "100.64.0.0/10", is: inside, before: open, after: open},
	{prefix: "127.0.0.0/8", is: inside, before: open, after: open},
	{prefix: "169.254.0.0/16", is: inside, before: open, after: open},
	{prefix: "172.16.0.0/12", is: inside, before: open, after: open},
	{prefix: "192.0.0.0/24", is: inside, before: open, after: open},
	{prefix: "192.0.2.0/24", is: inside, before: open, after: open},
	{prefix: "192.88.99.0/24", is: inside, before: open, after: open},
	{prefix: "192.168.0.0/16", is: inside, before: open, after: open},
	{prefix: "198.18.0.0/15", is: inside, before: open, after: open},
	{prefix: "198.51.100.0/24", is: inside, before: open, after: open},
	{prefix: "203.0.113.0/24", is: inside, before: open, after: open},
	{prefix: "224.0.0.0/4", is: never, before: open, after: inside},
	{prefix: "240.0.0.0/5", is: inside, before: never, after: inside},
	{prefix: "255.255.255.255/32", is: never, before: inside, noneAfter: true},
	{prefix: "1.0.0.0/8", is: open, before: inside, after: open},
	{prefix: "8.8.8.0/24", is: open, before: open, after: open},
	{prefix: "169.254.169.254/32", is: never, before: inside, after: inside},
	{prefix: "169.254.170.2/32", is: never, before: inside, after: inside},
	{prefix: "169.254.170.23/32", is: never, before: inside, after: inside},
	{prefix: "169.254.0.23/32", is: never, before: inside, after: inside},
	{prefix: "169.254.42.42/32", is: never, before: inside, after: inside},
	{prefix: "100.100.100.200/32", is: never, before: inside, after: inside},
	{prefix: "100.96.0.96/32", is: never, before: inside, after: inside},
	{prefix: "168.63.129.16/32", is: never, before: open, after: open},
	{prefix: "192.0.0.192/32", is: never, before: inside, after: inside},

	{prefix: "::/128", is: inside, noBefore: true, after: inside},
	{prefix: "::1/128", is: inside, before: inside, after: inside},
	{prefix: "100::/64", is: inside, before: inside, after: inside},
	{prefix: "64:ff9b:1::/112", is: inside, before: inside, after: inside},
	{prefix: "2000::/16", is: open, before: inside, after: never},     // 2001:: is Teredo, its client broadcast
	{prefix: "2001:1::/32", is: inside, before: never, after: inside}, // before it is Teredo, its server broadcast
	{prefix: "2001:2::/48", is: inside, before: inside, after: inside},
	{prefix: "2001:10::/28", is: inside, before: inside, after: inside},
	{prefix: "2001:100::/24", is: inside, before: inside, after: open},
	{prefix: "2001:db8::/32", is: inside, before: open, after: open},
	{prefix: "2600::/12", is: open, before: open, after: open},
	{prefix: "3fff::/20", is: inside, before: open, after: open},
	{prefix: "4000::/3", is: inside, before: open, after: inside},
	{prefix: "5f00::/16", is: inside, before: inside, after: inside},
	{prefix: "fc00::/7", is: inside, before: inside, after: inside},
	{prefix: "fe80::/10", is: inside, before: inside, after: inside},
	{prefix: "fec0::/10", is: inside, before: inside, after: never},
	{prefix: "ff00::/8", is: never, before: inside, noneAfter: true},
	{prefix: "fd00:ec2::254/128", is: never, before: inside, after: inside},
	{prefix: "fd00:ec2::23/128", is: never, before: inside, after: inside},
	{prefix: "fd20:ce::254/128", is: never, before: inside, after: inside},
	{prefix: "fd00:c1::a9fe:a9fe/128", is: never, before: inside, after: inside},
	{prefix: "fd00:42::42/128", is: never, before: inside, after: inside},
	{prefix: "fd00:a9fe:a9fe::1/128", is: never, before: inside, after: inside},
	{prefix: "fe80::a9fe:a9fe/128", is: never, before: inside, after: inside},
}

// judged is an address with its verdict.
type judged struct {
	addr netip.Addr
	is   verdict
}

// atEnds returns the first and last address of each range and their neighbors.
func atEnds() []judged {
	var all []judged
	for _, r := range ranges {
		prefix := netip.MustParsePrefix(r.prefix)
		first, last := prefix.Addr(), lastOf(prefix)
		all = append(all, judged{first, r.is}, judged{last, r.is})
		if !r.noBefore {
			all = append(all, judged{first.Prev(), r.before})
		}
		if !r.noneAfter {
			all = append(all, judged{last.Next(), r.after})
		}
	}
	return all
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// carriers are the ways in which an IPv6 address embeds an IPv4 address. A way that is not public is
// not open even if the embedded address is.
var carriers = []struct {
	name   string
	inside bool
	wrap   func(four [4]byte) string
}{
	{"mapped", false, func(b [4]byte) string { return "::ffff:" + netip.AddrFrom4(b).String() }},
	{"compatible", true, func(b [4]byte) string { return "::" + netip.AddrFrom4(b).String() }},
	{"translated", true, func(b [4]byte) string { return "::ffff:0:" + netip.AddrFrom4(b).String() }},
	{"NAT64", false, func(b [4]byte) string { return "64:ff9b::" + netip.AddrFrom4(b).String() }},
	{"local NAT64 /96", true, func(b [4]byte) string { return "64:ff9b:1:fffe::" + netip.AddrFrom4(b).String() }},
	{"local NAT64 /64", true, func(b [4]byte) string { return at("64:ff9b:1::", b, 9, 10, 11, 12) }},
	{"local NAT64 /56", true, func(b [4]byte) string { return at("64:ff9b:1::", b, 7, 9, 10, 11) }},
	{"local NAT64 /48", true, func(b [4]byte) string { return at("64:ff9b:1::", b, 6, 7, 9, 10) }},
	{"6to4", false, func(b [4]byte) string { return at("2002::1", b, 2, 3, 4, 5) }},
	{"Teredo server", false, func(b [4]byte) string { return at("2001:0:0:0:8000:63bf:f7f7:f7f7", b, 4, 5, 6, 7) }},
	{"Teredo client", false, func(b [4]byte) string {
		return at("2001:0:808:808:8000:63bf::", [4]byte{^b[0], ^b[1], ^b[2], ^b[3]}, 12, 13, 14, 15)
	}},
	{"ISATAP", false, func(b [4]byte) string { return at("2600:1234::5efe:0:0", b, 12, 13, 14, 15) }},
	{"ISATAP, global", false, func(b [4]byte) string { return at("2600:1234::200:5efe:0:0", b, 12, 13, 14, 15) }},
}

// at puts four bytes into an IPv6 address.
func at(addr string, four [4]byte, places ...int) string {
	b := netip.MustParseAddr(addr).As16()
	for i, place := range places {
		b[place] = four[i]
	}
	return netip.AddrFrom16(b).String()
}

// carried returns the IPv4 addresses at the ends of the ranges in every form that embeds one.
func carried() []judged {
	var all []judged
	for _, j := range atEnds() {
		if !j.addr.Is4() {
			continue
		}
		for _, c := range carriers {
			is := j.is
			if c.inside {
				is = max(is, inside)
			}
			all = append(all, judged{netip.MustParseAddr(c.wrap(j.addr.As4())), is})
		}
	}
	return all
}

func TestAddressPolicyRanges(t *testing.T) {
	cases := slices.Concat(atEnds(), carried(), []judged{
		{netip.Addr{}, never},
		{netip.MustParseAddr("fe80::1%eth0"), inside},
		{netip.MustParseAddr("2606:2800:220:1::1%eth0"), inside},
		{netip.MustParseAddr("fe80::a9fe:a9fe%eth0"), never},
		{netip.MustParseAddr("fd00:ec2::254%1"), never},
		{netip.MustParseAddr("::ffff:169.254.169.254%eth0"), never},
		{netip.MustParseAddr("::ffff:127.0.0.1%eth0"), inside},
		{netip.MustParseAddr("64:ff9b::a9fe:a9fe%eth0"), never},
		{netip.MustParseAddr("93.184.216.34"), open},
		{netip.MustParseAddr("2606:2800:220:1:248:1893:25c8:1946"), open},
		{netip.MustParseAddr("2a00:1450:4001:81b::200e"), open},
	})
	if len(cases) < 300 {
		t.Errorf("only %d addresses", len(cases))
	}
	seen := map[verdict]int{}
	for _, c := range cases {
		seen[c.is]++
		for _, policy := range policies {
			if got := policy.blocks(c.addr); got != c.is.blocked(policy) {
				t.Errorf("%+v: %s is %s, but blocks returns %v", policy, c.addr, c.is, got)
			}
			if !c.addr.IsValid() {
				continue
			}
			network := "tcp6"
			if c.addr.Is4() {
				network = "tcp4"
			}
			address := netip.AddrPortFrom(c.addr, 443).String()
			if err := policy.Control(t.Context(), network, address, nil); (err == ErrBlocked) != c.is.blocked(policy) {
				t.Errorf("%+v: %s is %s, but control returns %v", policy, address, c.is, err)
			}
		}
	}
	t.Log(len(cases), "addresses:", seen)
}

// No address inside a range is allowed, whatever its mask.
func TestAddressPolicyInsideRanges(t *testing.T) {
	for _, r := range ranges {
		prefix := netip.MustParsePrefix(r.prefix)
		if r.is == open || !prefix.Addr().Is4() {
			continue
		}
		b := prefix.Addr().As4()
		low, size := binary.BigEndian.Uint32(b[:]), uint64(1)<<(32-prefix.Bits())
		for part := range uint64(16) {
			binary.BigEndian.PutUint32(b[:], low+uint32(size*part/16))
			if addr := netip.AddrFrom4(b); !(Policy{}).blocks(addr) {
				t.Errorf("%s of %s is allowed", addr, r.prefix)
			}
		}
	}
}

func TestAddressPolicyBlocksInvalidAddresses(t *testing.T) {
	for _, c := range []struct{ network, address string }{
		{"tcp4", ""}, {"tcp4", ":80"}, {"tcp6", ":80"}, {"tcp4", "8.8.8.8"}, {"tcp4", "8.8.8.8:"}, {"tcp4", "8.8.8.8:http"},
		{"tcp4", "010.8.8.8:80"}, {"tcp4", "hooks.example.com:443"}, {"tcp6", "2606:2800::1:80:x"}, {"tcp6", "[2606:2800::1"},
		{"unix", "/run/docker.sock"}, {"unix", "8.8.8.8:80"}, {"udp4", "8.8.8.8:53"}, {"ip4", "8.8.8.8"}, {"", "8.8.8.8:80"},
	} {
		for _, policy := range policies {
			if err := policy.Control(t.Context(), c.network, c.address, nil); err != ErrBlocked {
				t.Errorf("%+v: %s %q: %v", policy, c.network, c.address, err)
			}
		}
	}
}
