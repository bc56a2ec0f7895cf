package egress

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/idna"
)

// spelled is a host as it appears in a URL, with its verdict.
type spelled struct {
	host string
	is   verdict
}

// digits writes a text with the digits of another script and another dot.
func digits(text string, zero rune, dot string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '.':
			b.WriteString(dot)
		case r >= '0' && r <= '9':
			b.WriteRune(zero + r - '0')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// spellings returns the ways to write an IPv4 address that some client understands. net/http
// understands the dotted one and what IDNA maps to it. The others are mistakes or attacks.
func spellings(addr netip.Addr, is verdict) []spelled {
	b := addr.As4()
	n := binary.BigEndian.Uint32(b[:])
	plain, escaped := addr.String(), ""
	for _, r := range []byte(addr.String()) {
		escaped += fmt.Sprintf("%%%02x", r)
	}
	all := []spelled{
		{plain, is},
		{digits(plain, '０', "."), is},
		{digits(plain, '０', "．"), is},
		{digits(plain, '０', "。"), is},
		{digits(plain, '0', "｡"), is},
		{digits(plain, '𝟎', "."), is},
		{digits(plain, '𝟶', "。"), is},
		{url.PathEscape(digits(plain, '０', ".")), is},
		{plain + "\u200b", is},
		{strings.Replace(plain, ".", "\u00ad.", 1), is},
	}
	if label, err := idna.Punycode.ToASCII(digits(plain, '０', ".")); err == nil {
		all = append(all, spelled{label, is})
	}
	if !strings.Contains(plain, "0") {
		all = append(all, spelled{digits(plain, '①'-1, "."), is})
	}
	for _, host := range []string{
		plain + ".", plain + "..", escaped, "[" + plain + "]",
		fmt.Sprint(n), fmt.Sprintf("%#x", n), fmt.Sprintf("0X%X", n), fmt.Sprintf("%#o", n), fmt.Sprintf("0%#o", n), fmt.Sprintf("%d.", n),
		fmt.Sprint(uint64(n) + 1<<32), // some clients let it overflow
		fmt.Sprintf("%#x.%#x.%#x.%#x", b[0], b[1], b[2], b[3]), fmt.Sprintf("0X%02X.0X%02X.0X%02X.0X%02X", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]), fmt.Sprintf("%04o.%04o.%04o.%04o.", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("0000%o.%d.%d.%d", b[0], b[1], b[2], b[3]), fmt.Sprintf("%d.%d.%d.%#x", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("%#x.%d", b[0], n&0xffffff), fmt.Sprintf("0%o.%d.%d", b[0], b[1], n&0xffff), fmt.Sprintf("%d.%d.%d", b[0], b[1], n&0xffff),
		fmt.Sprintf("%d.%d", b[0], n&0xffffff), fmt.Sprintf("%d.%#x", b[0], n&0xffffff),
		fmt.Sprintf("%d.%d.%d.%d", 256+int(b[0]), b[1], b[2], b[3]), plain + ".0", "0." + plain,
		digits(fmt.Sprint(n), '０', "."), digits(fmt.Sprintf("0%o", n), '𝟎', "."), "０ｘ" + fmt.Sprintf("%x", n), "0Ⅹ" + fmt.Sprintf("%X", n),
		digits(plain, '०', "."), digits(plain, '۰', "."), digits(plain, '٠', "."), digits(plain, '๐', "."), digits(plain, '০', "."),
	} {
		all = append(all, spelled{host, never})
	}
	return all
}

// loopbacks are spellings of this machine other than a numeric IPv4 address.
var loopbacks = []spelled{
	{"localhost", inside}, {"LOCALHOST", inside}, {"LocalHost.", inside}, {"localhost.", inside}, {"a.localhost", inside},
	{"a.b.LOCALHOST.", inside}, {"ｌｏｃａｌｈｏｓｔ", inside}, {"ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", inside}, {"localho\u017ft", inside}, {"local\u00adhost", inside},
	{"localhost。", inside}, {"x。localhost", inside}, {"𝓁ocalhost", inside}, {"localhost.localdomain", inside}, {"ip6-localhost", inside},
	{"ip6-loopback", inside}, {"localhost6", inside}, {"%EF%BD%8Cocalhost", inside}, {"xn--localhost-", inside}, {"x.xn--localhost-", inside},
	{"l%6fcalhost", never}, {"loca\u200dlhost", never}, {".localhost", never}, {"localhost..", never},
	{"[::1]", inside}, {"[0:0:0:0:0:0:0:1]", inside}, {"[0000:0000:0000:0000:0000:0000:0000:0001]", inside}, {"[::0001]", inside},
	{"[0::1]", inside}, {"[::0.0.0.1]", inside}, {"[::]", inside}, {"[0::0]", inside}, {"[::ffff:127.0.0.1]", inside},
	{"[::FFFF:127.0.0.1]", inside}, {"[::ffff:7f00:1]", inside}, {"[::FFFF:7F00:0001]", inside}, {"[0:0:0:0:0:ffff:127.0.0.1]", inside},
	{"[::127.0.0.1]", inside}, {"[::7f00:1]", inside}, {"[::ffff:0:127.0.0.1]", inside}, {"[64:ff9b::127.0.0.1]", inside},
	{"[64:FF9B::7F00:1]", inside}, {"[64:ff9b:1::7f00:1]", inside}, {"[2002:7f00:1::]", inside}, {"[2002:7F00:0001::1]", inside},
	{"[::1%25lo]", inside}, {"[::1%251]", inside}, {"[::ffff:127.0.0.1%25lo]", inside}, {"[::ffff:0.0.0.0]", inside},
	{"[::1%lo]", never}, {"[::1%25]", never}, {"[::1%25l%2fo]", never}, {"[::1", never}, {"::1", never}, {"[[::1]]", never}, {"[::1].", never},
	{"[::ffff:0177.0.0.1]", never}, {"[::ffff:127.1]", never}, {"[：：１]", never}, {"[::١]", never}, {"[localhost]", never},
	{"[v1.::1]", never}, {"[::00001]", never}, {"127.0.0.1%25lo", never}, {"127.0.0.1\\", never}, {"127.0.0.1,8.8.8.8", never},
}

// others are hosts that are neither.
var others = []spelled{
	{"hooks.example.com", open}, {"HOOKS.Example.COM", open}, {"hooks.example.com.", open}, {"does-not-resolve.invalid", open},
	{"intranet", open}, {"my_service.example.com", open}, {"r3---sn-x.example.com", open}, {"bücher.example", open}, {"BÜCHER.example", open},
	{"xn--bcher-kva.example", open}, {"例え.テスト", open}, {"例え。テスト", open}, {"faß.de", open}, {"i❤.ws", open}, {"xn--i-7iq.ws", open},
	{"пример.рф", open}, {"مثال.إختبار", open}, {"xn--80akhbyknj4f", open}, {"xn--zzzzzzzzzz99999.example", open}, {"1.example.com", open},
	{"127.0.0.1.example.com", open}, {"127.0.0.1.nip.io", open}, {"0x7f.1.example", open}, {"4chan.example", open}, {"a.0xyz", open},
	{"3com", open}, {"localhost.example.com", open}, {"notlocalhost", open}, {"mylocalhost.com", open}, {"local.host", open},
	{"dead.beef", open}, {"face.b00c", open}, {"123.x1", open}, {strings.Repeat("a", 63) + ".example", open},
	{"[2606:2800:220:1:248:1893:25c8:1946]", open}, {"[2A00:1450:4001:81B::200E]", open}, {"[::ffff:8.8.8.8]", open}, {"[64:ff9b::808:808]", open},
	{"[fe80::1%25eth0]", inside}, {"[fd12:3456::1]", inside}, {"[fe80::a9fe:a9fe%25eth0]", never}, {"[fd00:ec2::254]", never},
	{"[FD00:0EC2:0:0:0:0:0:0254]", never}, {"[::ffff:169.254.169.254]", never}, {"[::ffff:a9fe:a9fe]", never}, {"[::169.254.169.254]", never},
	{"[64:ff9b::a9fe:a9fe]", never}, {"[2002:a9fe:a9fe::1]", never}, {"[ff02::1]", never}, {"[fd20:ce::254%25eth0]", never},
	{"", never}, {".", never}, {"..", never}, {"a..b", never}, {".a", never}, {"é..com", never}, {"a b", never}, {"a,b", never}, {"a;b", never},
	{"*.example.com", never}, {"a!b", never}, {"a(b)", never}, {"a'b", never}, {"a&b", never}, {"a=b", never}, {"a+b", never}, {"$a", never},
	{"a|b", never}, {"a<b", never}, {"a\"b", never}, {"a\\b", never}, {"a^b", never}, {"%ff.example", never}, {"%00", never}, {"a%", never},
	{"a／b", never}, {"a：80", never}, {"a％b", never}, {"⒈.example", never}, {"１.２.３", never}, {"999.999.999.999", never}, {"1.2.3.4.5", never},
	{"foo.123", never}, {"foo.0x1F", never}, {"foo.0x", never}, {"127.0.0.0o1", never}, {"127.0.0.0B1", never}, {"foo.7.", never}, {"08.8.8.8", never}, {"010.8.8.8", never}, {"0x8080808", never},
	{strings.Repeat("a", 64) + ".example", never}, {strings.Repeat("a.", 127) + "a", never},
}

// hosts returns the whole table.
func hosts() []spelled {
	all := slices.Concat(loopbacks, others)
	for _, j := range slices.Concat(atEnds(), carried()) {
		host := j.addr.String()
		if j.addr.Is6() {
			host = "[" + host + "]"
			all = append(all, spelled{"[" + strings.ToUpper(j.addr.StringExpanded()) + "]", j.is})
		}
		all = append(all, spelled{host, j.is})
	}
	for text, is := range map[string]verdict{
		"127.0.0.1": inside, "127.255.255.254": inside, "10.1.2.3": inside, "192.168.1.1": inside, "172.31.255.255": inside,
		"100.64.1.1": inside, "169.254.1.1": inside, "0.0.0.0": inside, "169.254.169.254": never, "100.100.100.200": never, "224.0.0.1": never,
		"255.255.255.255": never, "8.8.8.8": open, "93.184.216.34": open,
	} {
		all = append(all, spellings(netip.MustParseAddr(text), is)...)
	}
	return all
}

func TestCheckURLHosts(t *testing.T) {
	cases := hosts()
	if len(cases) < 300 {
		t.Errorf("only %d hosts", len(cases))
	}
	seen := map[verdict]int{}
	for _, c := range cases {
		seen[c.is]++
		for _, policy := range policies {
			schemes := []string{"https"}
			if policy.AllowPrivate {
				schemes = append(schemes, "http")
			}
			for _, scheme := range schemes {
				for _, rest := range []string{"", "/", ":8443/in?a=b"} {
					text := scheme + "://" + c.host + rest
					if wrong := policy.CheckURL(text); (wrong != "") != c.is.blocked(policy) {
						t.Errorf("%+v: %q is %s, but CheckURL returns %q", policy, text, c.is, wrong)
					}
				}
			}
		}
	}
	t.Log(len(cases), "hosts:", seen)
}

func TestCheckURLMessages(t *testing.T) {
	const (
		https  = "must be an https URL such as https://hooks.example.com/in"
		either = "must be an http or https URL such as http://127.0.0.1:8080/in"
		blanks = "must not contain spaces or control characters"
		hash   = "must not have a fragment (the part after #)"
		user   = "must not contain a user name or password"
		port   = "must have no port or one from 1 to 65535"
		long   = "must be at most 2000 characters, not 2001"
		name   = "must have a valid host name"
	)
	const home = "https://hooks.example.com/"
	for _, c := range []struct{ text, strict, lax string }{
		{home, "", ""}, {home + "in?a=b&c=%20d", "", ""}, {"HTTPS://hooks.example.com", "", ""}, {"https://hooks.example.com?x", "", ""},
		{"https://hooks.example.com:1/", "", ""}, {"https://hooks.example.com:65535", "", ""}, {"https://hooks.example.com:/", "", ""},
		{home + "ünï/çode", "", ""}, {home + "@me/a:b", "", ""}, {home + "http://127.0.0.1/", "", ""}, {home + "%00%0a", "", ""},
		{"https://[2606:2800:220:1::1]:8443/", "", ""}, {home + strings.Repeat("a", 2000-len(home)), "", ""},
		{home + strings.Repeat("é", 2000-len(home)), "", ""}, {home + strings.Repeat("é", 2001-len(home)), long, long},
		{"http://hooks.example.com/", https, ""}, {"http://127.0.0.1:8080/in", https, ""}, {"HTTP://LOCALHOST", https, ""},
		{"https://127.0.0.1/", notPublic, ""}, {"https://localhost/", notPublic, ""}, {"https://127.1/", notFourNumbers, notFourNumbers},
		{"https://a!b/", name, name}, {"https://१२७.०.०.१/", notFourNumbers, notFourNumbers},
		{"https://[::1%25é]/", "must have a valid IPv6 address between the brackets", "must have a valid IPv6 address between the brackets"},
		{"https://169.254.169.254/", notPublic, "must not be the address of a cloud metadata service, nor a multicast or broadcast address"},
		{"", https, either}, {"hooks.example.com", https, either}, {"//hooks.example.com/", https, either}, {"/in", https, either},
		{"https:", https, either}, {"https://", https, either}, {"https:///in", https, either}, {"https:hooks.example.com", https, either},
		{"https:/hooks.example.com", https, either}, {"https:\\\\hooks.example.com", https, either}, {"https://:443/", https, either},
		{"https://?a", https, either}, {"ftp://hooks.example.com/", https, either}, {"file:///etc/passwd", https, either},
		{"gopher://127.0.0.1:70/", https, either}, {"unix:///run/docker.sock", https, either}, {"javascript:alert(1)", https, either},
		{"https+unix://%2frun%2fdocker.sock/", https, either}, {"https://a:b:c/", https, either}, {"https://a:b/", https, either},
		{"https://a:-1/", https, either}, {"https://a:+80/", https, either}, {"https://a%zz/", https, either}, {home + "%zz", https, either},
		{"https://a:0/", port, port}, {"https://a:000/", port, port}, {"https://a:65536/", port, port}, {"https://a:99999999999999999999/", port, port},
		{"https://[2606:2800::1]:0/", port, port}, {"https://me@hooks.example.com/", user, user}, {"https://me:secret@hooks.example.com/", user, user},
		{"https://@hooks.example.com/", user, user}, {"https://:@hooks.example.com/", user, user}, {"https://127.0.0.1@hooks.example.com/", user, user},
		{"https://hooks.example.com@127.0.0.1/", user, user}, {"https://hooks.example.com\\@127.0.0.1/", https, either},
		{home + "#", hash, hash}, {home + "#top", hash, hash}, {"https://hooks.example.com#@127.0.0.1/", hash, hash}, {"#", hash, hash},
		{" " + home, blanks, blanks}, {home + " ", blanks, blanks}, {home + "a b", blanks, blanks}, {home + "\n", blanks, blanks}, {"https://a\tb/", blanks, blanks},
		{home + "\x00", blanks, blanks}, {home + "\x7f", blanks, blanks}, {home + "\u0085", blanks, blanks}, {home + "\u00a0", blanks, blanks},
		{home + "\u2028", blanks, blanks}, {home + "\u3000", blanks, blanks}, {home + "\xff", blanks, blanks},
	} {
		if got := (Policy{}).CheckURL(c.text); got != c.strict {
			t.Errorf("%q: %q, want %q", c.text, got, c.strict)
		}
		if got := (Policy{AllowPrivate: true}).CheckURL(c.text); got != c.lax {
			t.Errorf("%q, private networks allowed: %q, want %q", c.text, got, c.lax)
		}
	}
}

// aton parses a host like inet_aton of the C library, and accepts 0o1 and 0b1 too.
func aton(host string) (netip.Addr, bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	var n uint64
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 0, 32)
		room := 8
		if i == len(parts)-1 {
			room = 8 * (4 - i)
		}
		if err != nil || i > 3 || strings.Contains(part, "_") || v >= 1<<room {
			return netip.Addr{}, false
		}
		n |= v << (8*(3-i) + 8 - room)
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(n))
	return netip.AddrFrom4(b), true
}

// CheckURL accepts no URL whose host is a blocked address, neither for net/http nor for a client
// that parses hosts like inet_aton.
func FuzzCheckURL(f *testing.F) {
	for _, c := range slices.Concat(loopbacks, others, spellings(netip.MustParseAddr("127.0.0.1"), inside)) {
		f.Add("https://" + c.host + "/")
		f.Add("http://" + c.host + ":80")
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, policy := range policies {
			if policy.CheckURL(text) != "" {
				continue
			}
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			host := u.Hostname()
			if mapped, err := idna.Lookup.ToASCII(host); err == nil {
				host = mapped
			}
			if addr, err := netip.ParseAddr(host); err == nil && policy.blocks(addr) {
				t.Errorf("%+v accepts %q, which is %s", policy, text, addr)
			}
			if addr, is := aton(host); is && policy.blocks(addr) {
				t.Errorf("%+v accepts %q, which some clients take for %s", policy, text, addr)
			}
		}
	})
}
