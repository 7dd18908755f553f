package canon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// hosts are hosts as written and their canonical form, or "" when the URL must be refused as Malformed.
var hosts = []struct{ rule, in, host string }{
	{"3.3 lower case", "EXAMPLE.Com", "example.com"},
	{"3.3 underscore", "foo_bar.example", "foo_bar.example"},
	{"3.3 ASCII is not held to STD3", "a!$&'()*+,;=_`{}~\"b", "a!$&'()*+,;=_`{}~\"b"},
	{"3.3 hyphens are not checked", "-a-.b--c.r3---sn-x.example", "-a-.b--c.r3---sn-x.example"},
	{"3.5 percent-decode", "ex%61mple%2Ecom", "example.com"},
	{"3.3 A-label of a mapped name", "Bücher.Example", "xn--bcher-kva.example"},
	{"3.3 A-label of an escaped name", "b%C3%BCcher.example", "xn--bcher-kva.example"},
	{"3.3 A-label folds case", "XN--BCHER-kva.example", "xn--bcher-kva.example"},
	{"3.3 non-transitional", "faß.example", "xn--fa-hia.example"},
	{"3.3 full width and ideographic full stop", "ｅｘ。example", "ex.example"},
	{"3.3 hyphens are not checked in A-labels", "-é.ab--é.example", "xn----bga.xn--ab---epa.example"},
	{"3.3 emoji", "☕.example", "xn--53h.example"},
	{"3.3 A-label beside an underscore", "a_b.é.example", "a_b.xn--9ca.example"},
	{"3.3 soft hyphen is ignored", "ex\u00adample.com", "example.com"},
	{"3.3 A-label that decodes to ASCII", "xn--abc-.example", "xn--abc-.example"},
	{"3.3 A-label that is no Punycode", "xn--0.example", "xn--0.example"},
	{"3.3 A-label without more", "xn--", "xn--"},
	{"3.3 A-labels that UTS #46 would not have, in ASCII", "XN--8i7caa.xn--1ug66vku9r8p9h.ws", "xn--8i7caa.xn--1ug66vku9r8p9h.ws"},
	{"3.3 an A-label that is no Punycode, beside a letter outside ASCII", "xn--0.é", ""},
	{"3.3 capital sharp s", "FAẞ.de", "xn--fa-hia.de"},
	{"3.3 capital sharp s, escaped", "fa%E1%BA%9E.de", "xn--fa-hia.de"},
	{"3.3 joiner out of context", "a\u200db.example", ""},
	{"3.3 mixed direction", "\u0627b\u0628.example", ""},
	{"3.3 mixed direction by mapping", "a\u2135b.example", ""},
	{"3.3 nothing left", "\u00ad", ""},
	{"3.3 slash by mapping", "a／b", ""},
	{"3.3 percent by mapping", "a％41", ""},
	{"3.2 forbidden: space", "a b", ""},
	{"3.2 forbidden: escaped slash", "a%2Fb", ""},
	{"3.2 forbidden: escaped at", "a%40b", ""},
	{"3.2 forbidden: escaped NUL", "a%00b", ""},
	{"3.2 forbidden: escaped percent", "a%25b", ""},
	{"3.2 forbidden: percent", "a%b", ""},
	{"3.2 forbidden: DELETE", "a\x7fb", ""},
	{"3.2 forbidden: <>^|", "a<b", ""},
	{"3.2 forbidden: <>^|", "a^b", ""},
	{"3.2 forbidden: <>^|", "a|b", ""},
	{"3.5 not UTF-8", "a%E9b", ""},
	{"3.5 not UTF-8", "a\xe9b", ""},
	{"ours: trailing dot", "example.com.", "example.com"},
	{"ours: trailing dot of an A-label", "bücher。", "xn--bcher-kva"},
	{"ours: empty label", "a..b", ""},
	{"ours: empty label", ".a", ""},
	{"ours: empty label", "a..", ""},
	{"ours: empty label", ".", ""},
	{"ours: empty label", "%2e", ""},
	{"ours: label of 63", strings.Repeat("a", 63) + ".b", strings.Repeat("a", 63) + ".b"},
	{"ours: label of 64", strings.Repeat("a", 64) + ".b", ""},
	{"ours: label of 64 at the end", "b." + strings.Repeat("a", 64), ""},
	{"ours: name of 253", strings.Repeat("a.", 126) + "b", strings.Repeat("a.", 126) + "b"},
	{"ours: name of 253 and a dot", strings.Repeat("a.", 126) + "b.", strings.Repeat("a.", 126) + "b"},
	{"ours: name of 254", strings.Repeat("a.", 125) + "aaaa", ""},
	{"ours: name of 255", strings.Repeat("a.", 126) + "bbb", ""},
	{"ours: a spelling too long to look at", strings.Repeat("%C2%AD", 200) + "a", ""},

	{"3.5 IPv4", "192.0.2.1", "192.0.2.1"},
	{"3.5 IPv4: trailing dot", "192.0.2.1.", "192.0.2.1"},
	{"3.5 IPv4: hexadecimal", "0xC0.0X00.0x2.0x1", "192.0.2.1"},
	{"3.5 IPv4: octal", "0300.00.02.01", "192.0.2.1"},
	{"3.5 IPv4: one number", "3221225985", "192.0.2.1"},
	{"3.5 IPv4: one hexadecimal number", "0xffffffff", "255.255.255.255"},
	{"3.5 IPv4: two numbers", "192.513", "192.0.2.1"},
	{"3.5 IPv4: three numbers", "192.0.513", "192.0.2.1"},
	{"3.5 IPv4: 0x is zero", "0x", "0.0.0.0"},
	{"3.5 IPv4: 0x is zero", "1.0x", "1.0.0.0"},
	{"3.5 IPv4: many zeros", strings.Repeat("0", 300) + "1", "0.0.0.1"},
	{"3.5 IPv4: full width", "１２７.１", "127.0.0.1"},
	{"3.5 IPv4: escaped", "%30x%37f.1", "127.0.0.1"},
	{"3.5 IPv4: 2^32", "4294967296", ""},
	{"3.5 IPv4: 2^64 and more", "18446744073709551617", ""},
	{"3.5 IPv4: a part over 255", "256.1", ""},
	{"3.5 IPv4: last part too large", "1.2.3.256", ""},
	{"3.5 IPv4: last part too large", "1.2.65536", ""},
	{"3.5 IPv4: last part too large", "1.16777216", ""},
	{"3.5 IPv4: five parts", "1.2.3.4.5", ""},
	{"3.5 IPv4: five parts, the last zero", "1.2.3.4.0", ""},
	{"3.5 IPv4: six parts", "0.0.0.0.0.0", ""},
	{"3.5 IPv4: empty part", "1..2", ""},
	{"3.5 IPv4: no octal", "09", ""},
	{"3.5 ends in a number: decimal", "example.255", ""},
	{"3.5 ends in a number: hexadecimal", "example.0xF", ""},
	{"3.5 ends in a number: 0x", "example.0x.", ""},
	{"3.5 does not end in a number", "1.2.3.a4", "1.2.3.a4"},
	{"3.5 does not end in a number", "1.0xg", "1.0xg"},
	{"3.5 does not end in a number", "1.2a", "1.2a"},
	{"3.5 does not end in a number: signs are not digits", "0x-1", "0x-1"},
	{"3.5 does not end in a number: signs are not digits", "1.2.3.+4", "1.2.3.+4"},

	{"3.5 IPv6: compressed", "[2001:DB8:0:0:0:0:0:1]", "[2001:db8::1]"},
	{"3.5 IPv6: leading zeros", "[0001::0000:0]", "[1::]"},
	{"3.5 IPv6: first of the longest runs", "[1:0:0:2:3:0:0:4]", "[1::2:3:0:0:4]"},
	{"3.5 IPv6: one zero is not compressed", "[1:0:2:3:4:5:6:7]", "[1:0:2:3:4:5:6:7]"},
	{"3.5 IPv6: :: for one piece", "[1::2:3:4:5:6:7]", "[1:0:2:3:4:5:6:7]"},
	{"3.5 IPv6: IPv4 inside", "[::ffff:192.0.2.1]", "[::ffff:c000:201]"},
	{"3.5 IPv6: IPv4 inside", "[64:ff9b::192.0.2.1]", "[64:ff9b::c000:201]"},
	{"3.5 IPv6: loopback", "[::1]", "[::1]"},
	{"3.5 IPv6: any", "[::]", "[::]"},
	{"3.5 IPv6: zone", "[fe80::1%25eth0]", ""},
	{"3.5 IPv6: zone", "[fe80::1%eth0]", ""},
	{"3.5 IPv6: IPv4", "[192.0.2.1]", ""},
	{"3.5 IPv6: IPv4 inside with leading zero", "[::192.0.2.01]", ""},
	{"3.5 IPv6: escapes", "[::%31]", ""},
	{"3.5 IPv6: escaped bracket", "[::1%5D", ""},
	{"3.5 IPv6: unclosed", "[::1", ""},
	{"3.5 IPv6: only a bracket", "[", ""},
	{"3.5 IPv6: empty", "[]", ""},
	{"3.5 IPv6: two brackets", "[[::1]]", ""},
	{"3.5 IPv6: text behind", "[::1]a", ""},
	{"3.5 IPv6: nine pieces", "[1:2:3:4:5:6:7:8:9]", ""},
	{"3.5 IPv6: two compressions", "[1::2::3]", ""},
	{"3.5 IPv6: five digits", "[::12345]", ""},
	{"3.2 bracket in a name", "a]", ""},
	{"3.2 bracket in a name", "a[b", ""},
}

func TestURLStandard_3_Hosts(t *testing.T) {
	for _, tt := range hosts {
		u, err := Parse("http://" + tt.in + ":81/a")
		switch {
		case tt.host == "" && ReasonOf(err) != Malformed:
			t.Errorf("%s: %q gave %q, %v; want %s", tt.rule, tt.in, u, err, Malformed)
		case tt.host != "" && (err != nil || u.String() != "http://"+tt.host+":81/a" || u.Host() != tt.host):
			t.Errorf("%s: %q gave %q, %v; want host %q", tt.rule, tt.in, u, err, tt.host)
		}
	}
}

func TestHost_SpellingsGiveOneAuthority(t *testing.T) {
	for want, spellings := range map[string][]string{
		"http://127.0.0.1:80":             {"http://127.1", "http://0x7f.1.", "http://2130706433:80", "http://u:p@017700000001:/x"},
		"https://xn--bcher-kva.test:443":  {"https://bücher.test", "https://BÜCHER.test.", "https://XN--BCHER-KVA.TEST:443", "https://b%c3%bccher.test:0443"},
		"http://[::ffff:7f00:1]:8080":     {"http://[::ffff:127.0.0.1]:8080", "http://[0:0:0:0:0:FFFF:7F00:0001]:08080"},
		"https://www.example.com:443":     {"https://www.example.com", "https://WWW.example.com./", "HTTPS:www.example.com"},
		"http://www.example.com:443":      {"http://www.example.com:443"},
		"https://www.example.com:80":      {"https://www.example.com.:80"},
		"http://xn--bcher-kva.test.x:443": {"http://bücher。test。x:443"},
	} {
		for _, s := range spellings {
			u, err := Parse(s)
			assert.Truef(t, err == nil && u.Authority().String() == want, "%q: authority %q, %v; want %q", s, u.Authority(), err, want)
		}
	}
}

func TestHost_CodePointMappingIsStable(t *testing.T) {
	names := 0
	for r := rune(0x80); r < 0x20000; r++ {
		for _, host := range []string{string(r), "a" + string(r) + "b.example"} {
			u, err := Parse("http://" + host + "/")
			if err != nil {
				continue
			}
			names++
			v, err := Parse(u.String())
			assert.Truef(t, err == nil && v == u, "%U in %q: %q gives %q, %v", r, host, u, v, err)
		}
	}
	assert.GreaterOrEqualf(t, names, 100_000, "only %d names were accepted", names)
}
