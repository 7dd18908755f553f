package robots

import (
	"strings"
	"testing"
)

// want is a verdict that is expected: the target, whether it is allowed, and the line that decides, 0 for none.
type want struct {
	target  string
	allowed bool
	line    int
}

// check parses a file for a token and compares verdicts.
func check(t *testing.T, file, token string, wants ...want) {
	t.Helper()
	p := Parse([]byte(file), Options{Token: token})
	for _, w := range wants {
		if v := p.Match(w.target); v.Allowed != w.allowed || v.Line != w.line {
			t.Errorf("%s, %q: allowed %v by line %d (%q), want %v by line %d; the file:\n%s", token, w.target, v.Allowed, v.Line, v.Rule, w.allowed, w.line, file)
		}
	}
}

// file joins lines.
func file(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestRFC9309_2_1_TheLastGroupMayHaveNoRules(t *testing.T) {
	check(t, file("user-agent: *", "disallow: /", "user-agent: curtsy"), "curtsy", want{"/a", true, 0})
}

func TestRFC9309_2_2_EmptyLinesMeanNothing(t *testing.T) {
	check(t, file("user-agent: curtsy", "", "user-agent: other", "", "disallow: /a", "", "disallow: /b"), "curtsy",
		want{"/a", false, 5}, want{"/b", false, 7})
}

func TestRFC9309_2_2_WhiteSpaceAndEmptyPatterns(t *testing.T) {
	check(t, file(" \tUser-Agent\t : \tcurtsy \t", "  disallow :/a ", "disallow:", "allow: \t"), "curtsy",
		want{"/a", false, 2}, want{"/b", true, 0})
}

func TestRFC9309_2_2_1_Figure1_ProductToken(t *testing.T) {
	check(t, file("user-agent: ExampleBot", "disallow: /"), "ExampleBot", want{"/", false, 2})
	for token, valid := range map[string]bool{
		"ExampleBot": true, "a": true, "Google-bot_x": true,
		"": false, "Bot2": false, "Bot/1.0": false, "my bot": false, "*": false, "bött": false, "Bot\n": false,
	} {
		if err := ValidToken(token); (err == nil) != valid {
			t.Errorf("ValidToken(%q) = %v", token, err)
		}
	}
}

func TestRFC9309_2_2_1_CaseInsensitiveWholeToken(t *testing.T) {
	f := file("user-agent: CURTSY", "disallow: /own", "user-agent: curt", "disallow: /prefix", "user-agent: curtsy-images", "disallow: /longer")
	check(t, f, "Curtsy", want{"/own", false, 2}, want{"/prefix", true, 0}, want{"/longer", true, 0})
}

func TestRFC9309_2_2_1_Figure2_GroupsOfOneTokenAreMerged(t *testing.T) {
	f := file("user-agent: ExampleBot", "disallow: /foo", "disallow: /bar", "", "user-agent: ExampleBot", "disallow: /baz")
	check(t, f, "ExampleBot", want{"/foo", false, 2}, want{"/bar", false, 3}, want{"/baz", false, 6}, want{"/qux", true, 0})
	merged := file("user-agent: ExampleBot", "disallow: /foo", "disallow: /bar", "disallow: /baz")
	if got := Parse([]byte(f), Options{Token: "ExampleBot"}).String(); got != merged {
		t.Errorf("merged:\n%swant:\n%s", got, merged)
	}
}

func TestRFC9309_2_2_1_Figure3_StarBindsWhomNoGroupNames(t *testing.T) {
	f := file("user-agent: *", "disallow: /foo", "disallow: /bar", "", "user-agent: BazBot", "disallow: /baz")
	check(t, f, "ExampleBot", want{"/foo", false, 2}, want{"/bar", false, 3}, want{"/baz", true, 0})
	check(t, f, "BazBot", want{"/foo", true, 0}, want{"/bar", true, 0}, want{"/baz", false, 6})
}

func TestRFC9309_2_2_1_NoGroupNoRules(t *testing.T) {
	check(t, file("user-agent: BazBot", "disallow: /"), "ExampleBot", want{"/", true, 0})
	check(t, "", "ExampleBot", want{"/", true, 0})
}

func TestRFC9309_2_2_2_MatchStartsAtTheFirstOctet(t *testing.T) {
	check(t, file("user-agent: *", "disallow: /a"), "curtsy", want{"/a", false, 2}, want{"/ab/c?d", false, 2}, want{"/b/a", true, 0}, want{"/", true, 0})
	check(t, file("user-agent: *", "disallow: /a*c"), "curtsy", want{"/abc", false, 2}, want{"/z/abc", true, 0})
}

func TestRFC9309_2_2_2_CaseSensitive(t *testing.T) {
	check(t, file("user-agent: *", "disallow: /A"), "curtsy", want{"/A", false, 2}, want{"/a", true, 0})
}

func TestRFC9309_2_2_2_MostOctetsWin(t *testing.T) {
	check(t, file("user-agent: *", "disallow: /", "allow: /a/b", "disallow: /a/b/c", "allow: /a"), "curtsy",
		want{"/x", false, 2}, want{"/a/x", true, 5}, want{"/a/b", true, 3}, want{"/a/b/c", false, 4}, want{"/a/b/x", true, 3})
	// "*" and "$" are octets of the rule too.
	check(t, file("user-agent: *", "allow: /page", "disallow: /*.html"), "curtsy", want{"/page", true, 2}, want{"/page.html", false, 3})
	check(t, file("user-agent: *", "disallow: /page*", "allow: /page"), "curtsy", want{"/page", false, 2})
	check(t, file("user-agent: *", "disallow: /page", "allow: /page$"), "curtsy", want{"/page", true, 3}, want{"/pages", false, 2})
}

func TestRFC9309_2_2_2_AllowWinsATie(t *testing.T) {
	check(t, file("user-agent: *", "disallow: /a", "allow: /a"), "curtsy", want{"/a", true, 3})
	check(t, file("user-agent: *", "allow: /a", "disallow: /a"), "curtsy", want{"/a", true, 2})
	check(t, file("user-agent: *", "disallow: /a*", "allow: /ab"), "curtsy", want{"/ab", true, 3})
	check(t, file("user-agent: *", "disallow: /ab", "allow: /a*"), "curtsy", want{"/ab", true, 3})
	check(t, file("user-agent: *", "disallow: /*b", "allow: /a*"), "curtsy", want{"/ab", true, 3})
}

func TestRFC9309_2_2_2_RobotsTxtIsAllowed(t *testing.T) {
	p := Parse([]byte(file("user-agent: *", "disallow: /")), Options{Token: "curtsy"})
	for target, allowed := range map[string]bool{
		"/robots.txt": true, "/robots%2Etxt": true, "/%72obots.txt": true, "/robots.txt#x": true,
		"/robots.txt?x": false, "/robots.txt?": false, "/robots.txt/": false, "/a/robots.txt": false, "/Robots.txt": false,
	} {
		if v := p.Match(target); v.Allowed != allowed || allowed && (v.Reason != RobotsItself || v.Line != 0 || v.Group != "") {
			t.Errorf("%s: %+v", target, v)
		}
	}
}

func TestRFC9309_2_2_2_RulesOutsideGroupsAreIgnored(t *testing.T) {
	check(t, file("disallow: /a", "user-agent: *", "disallow: /b"), "curtsy", want{"/a", true, 0}, want{"/b", false, 3})
}

// Figure 4 of RFC 9309. Its second row would have "://" in a query equal "%3A%2F%2F". That cannot be had together with
// the sentence before it, which keeps reserved octets apart; erratum 7128 is about that table. We keep them apart: both
// spellings match themselves.
func TestRFC9309_2_2_2_Figure4_PercentEncoding(t *testing.T) {
	for _, row := range []struct{ path, target string }{
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz"},
		{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar"},
		{"/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"},
		{"/foo/bar/\xE3\x83\x84", "/foo/bar/%E3%83%84"},
		{"/foo/bar/\xE3\x83\x84", "/foo/bar/\xE3\x83\x84"},
		{"/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"},
		{"/foo/bar/%E3%83%84", "/foo/bar/\xE3\x83\x84"},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz"},
		{"/foo/bar/baz", "/foo/bar/%62%61%7A"},
		{"/foo/bar/%62%61%7A", "/foo/bar/%62%61%7a"},
	} {
		check(t, file("user-agent: *", "disallow: "+row.path), "curtsy", want{row.target, false, 2}, want{row.target + "x", false, 2}, want{"/foo/bar", true, 0})
	}
	for _, row := range []struct{ path, target string }{
		{"/a%2Fb", "/a/b"}, {"/a/b", "/a%2Fb"}, {"/a%3Fb", "/a?b"}, {"/?u=https://foo", "/?u=https%3A%2F%2Ffoo"},
	} {
		check(t, file("user-agent: *", "disallow: "+row.path), "curtsy", want{row.target, true, 0})
	}
}

func TestRFC9309_2_2_2_HexCaseIsEqual(t *testing.T) {
	check(t, file("user-agent: *", "disallow: /%e3%83%84", "disallow: /%3cb"), "curtsy",
		want{"/%E3%83%84", false, 2}, want{"/%e3%83%84", false, 2}, want{"/%3Cb", false, 3}, want{"/%3cb", false, 3})
}

// Octets that may not stand in a URI (RFC 3986 2) have one spelling, the escaped one. A browser escapes some of them and
// sends others as they are.
func TestRFC9309_2_2_2_IllegalOctetsEqualTheirEscapes(t *testing.T) {
	for _, c := range []string{"\"", "<", ">", "\\", "^", "`", "{", "|", "}", "\x7F", " "} {
		escaped := canonicalPattern(c)
		check(t, file("user-agent: *", "disallow: /a"+c+"b"), "curtsy", want{"/a" + c + "b", false, 2}, want{"/a" + escaped + "b", false, 2})
		check(t, file("user-agent: *", "disallow: /a"+escaped+"b"), "curtsy", want{"/a" + c + "b", false, 2}, want{"/a" + escaped + "b", false, 2})
	}
	check(t, file("user-agent: *", "disallow: /100%"), "curtsy", want{"/100%", false, 2}, want{"/100%25", false, 2}, want{"/100%zz", false, 2}, want{"/100", true, 0})
}

func TestRFC9309_2_2_3_Figure5_SpecialCharacters(t *testing.T) {
	check(t, file("user-agent: *", "disallow: /", "allow: /a # comment in line", "# comment on its own line"), "curtsy", want{"/a", true, 3})
	check(t, file("user-agent: *", "disallow: /a#b"), "curtsy", want{"/a", false, 2})
	check(t, file("user-agent: *", "disallow: /", "allow: /this/path/exactly$"), "curtsy",
		want{"/this/path/exactly", true, 3}, want{"/this/path/exactly/", false, 2}, want{"/this/path/exactly?", false, 2})
	check(t, file("user-agent: *", "disallow: /", "allow: /this/*/exactly"), "curtsy",
		want{"/this/path/exactly", true, 3}, want{"/this/a/b/exactly/c", true, 3}, want{"/this//exactly", true, 3}, want{"/this/exactly", false, 2})
}

func TestRFC9309_2_2_3_Figure6_SpecialCharactersVerbatim(t *testing.T) {
	f := file("user-agent: *", "disallow: /path/file-with-a-%2A.html", "disallow: /path/foo-%24")
	check(t, f, "curtsy",
		want{"/path/file-with-a-*.html", false, 2}, want{"/path/file-with-a-%2a.html", false, 2}, want{"/path/file-with-a-x.html", true, 0},
		want{"/path/foo-$", false, 3}, want{"/path/foo-$x", false, 3}, want{"/path/foo-", true, 0})
}

func TestRFC9309_2_2_4_OtherRecordsDoNotInterfere(t *testing.T) {
	for _, other := range []string{"sitemap: /s.xml", "crawl-delay: 5", "crawl-delay: nonsense", "request-rate: 1/5", "noindex: /", "clean-param: a /b", "?"} {
		check(t, file("user-agent: a", other, "user-agent: curtsy", other, "disallow: /x", other, "disallow: /y"), "curtsy",
			want{"/x", false, 5}, want{"/y", false, 7})
		check(t, file("user-agent: curtsy", other, "user-agent: a", "disallow: /x"), "curtsy", want{"/x", false, 4})
	}
}

func TestRFC9309_2_3_1_5_WhatCanBeParsedIsUsed(t *testing.T) {
	check(t, file("<!DOCTYPE html>", "<p>user-agent: *", "user-agent: *", "<b>", "disallow: /x</p>", "disallow: /y"), "curtsy",
		want{"/x", true, 0}, want{"/x%3C/p%3E", false, 5}, want{"/y", false, 6})
}

func TestRFC9309_2_5_LimitIs500KiB(t *testing.T) {
	head := "user-agent: *\ndisallow: /first\n#"
	tail := "\ndisallow: /last\n"
	fit := head + strings.Repeat("x", MaxBody-len(head)-len(tail)) + tail
	check(t, fit, "curtsy", want{"/first", false, 2}, want{"/last", false, 4})
	// One octet more, and the last line is cut: it must not become "disallow: /last" without its end.
	over := fit[:len(fit)-1] + "-of-all\n"
	check(t, over, "curtsy", want{"/first", false, 2}, want{"/last", true, 0}, want{"/last-of-all", true, 0})
	check(t, strings.Repeat("x", MaxBody)+"y", "curtsy", want{"/", true, 0})
}

func TestRFC9309_5_1_SimpleExample(t *testing.T) {
	f := file("User-Agent: *", "Disallow: *.gif$", "Disallow: /example/", "Allow: /publications/", "",
		"User-Agent: foobot", "Disallow:/", "Allow:/example/page.html", "Allow:/example/allowed.gif", "",
		"User-Agent: barbot", "User-Agent: bazbot", "Disallow: /example/page.html", "", "User-Agent: quxbot")
	check(t, f, "curtsy",
		want{"/publications/x.html", true, 4}, want{"/example/", false, 3}, want{"/example/page.html", false, 3}, want{"/a/b.gif", false, 2},
		want{"/b.gif?", true, 0}, want{"/publications/x.gif", true, 4}, want{"/", true, 0})
	check(t, f, "foobot", want{"/", false, 7}, want{"/example/page.html", true, 8}, want{"/example/allowed.gif", true, 9}, want{"/example/other.gif", false, 7})
	for _, token := range []string{"barbot", "bazbot"} {
		check(t, f, token, want{"/example/page.html", false, 13}, want{"/example/", true, 0}, want{"/a.gif", true, 0})
	}
	check(t, f, "quxbot", want{"/example/page.html", true, 0}, want{"/a.gif", true, 0})
}

// The text of 5.2 has a URI "disallow.gif", which the rule does not match; erratum 7124 corrects it.
func TestRFC9309_5_2_LongestMatch(t *testing.T) {
	f := file("User-Agent: foobot", "Allow: /example/page/", "Disallow: /example/page/disallowed.gif")
	check(t, f, "foobot", want{"/example/page/disallowed.gif", false, 3}, want{"/example/page/disallow.gif", true, 2}, want{"/example/", true, 0})
}
