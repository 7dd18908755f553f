package trap

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTemplate(t *testing.T) {
	for in, want := range map[string]string{
		"/viewtopic.php?t=17&start=250":               "/viewtopic.php?t=#&start=#",
		"/12/2048/1361.png":                           "/#/#/#.png",
		"/a1b22c":                                     "/a#b#c",
		"/wiki/About":                                 "/wiki/About",
		"/x?sid=0123456789abcdef":                     "/x?sid=#",
		"/x?sid=0123456789abcde":                      "/x?sid=#abcde", // 15: no session id
		"/x;jsessionid=AB12CD34EF56AB78CD90EF12AB34?": "/x;jsessionid=#?",
		"/anextraordinarilylongwordwithoutdigits":     "/anextraordinarilylongwordwithoutdigits",
		"/a-long-title-of-2026-words-and-more":        "/a-long-title-of-#-words-and-more",
		"":                                            "",
		"12345678901234567890":                        "#",
		"ä1ö22":                                       "ä#ö#",
	} {
		assert.Equal(t, want, Template(in), in)
	}
}

// The template of a template is itself, and there are no digits in it.
func FuzzTemplate(f *testing.F) {
	f.Add("/12/2048/1361.png?a=0123456789abcdef0&b")
	f.Fuzz(func(t *testing.T, s string) {
		got := Template(s)
		assert.Truef(t, !strings.ContainsAny(got, "0123456789") && Template(got) == got && len(got) <= len(s), "%q: %q, and of that %q", s, got, Template(got))
	})
}

func TestGroups(t *testing.T) {
	of := func(url string) [2]group {
		q, g := groupsOf(parse(t, url))
		return [2]group{q, g}
	}
	same := func(a, b [2]group) [2]bool { return [2]bool{a[0] == b[0], a[1] == b[1]} }
	for _, tt := range []struct {
		a, b string
		want [2]bool
	}{
		{"http://h.test/x?a=1", "http://h.test/x?a=2", [2]bool{true, true}},
		{"http://h.test/x?a=1", "http://h.test/x?b=2", [2]bool{true, false}},
		{"http://h.test/x1?a=1", "http://h.test/x2?a=1", [2]bool{false, true}},
		{"http://h.test/x/1", "http://h.test/x/2", [2]bool{true, true}}, // no query: no group of queries, both times
		{"http://h.test/~x?1", "http://h.test/%7Ex?1", [2]bool{true, true}},
		{"http://h.test/x?", "http://h.test/x", [2]bool{true, true}},
	} {
		assert.Equalf(t, tt.want, same(of(tt.a), of(tt.b)), "%s, %s", tt.a, tt.b)
	}
	q, _ := groupsOf(parse(t, "http://h.test/x"))
	assert.True(t, q == 0, "a URL without a query has a group of queries")
}

// digests digests a page: its URL, its text, and its embedded URLs.
func digests(t *testing.T, page [2]string, embeds ...string) [2]uint64 {
	t.Helper()
	d := NewDigester(parse(t, page[0]), true)
	for piece := range strings.SplitSeq(page[1], "|") {
		d.Text(piece)
	}
	for _, e := range embeds {
		d.Embed(parse(t, e))
	}
	text, shape := d.Digests()
	return [2]uint64{text, shape}
}

func TestRule22_PageDigests(t *testing.T) {
	const more = " one two three four five six seven eight"
	for _, tt := range []struct {
		name        string
		a, b        [2]string // URL and text
		text, shape bool      // the same
	}{
		{"white space does not matter", [2]string{"http://h.test/a", "x \n y|z" + more}, [2]string{"http://h.test/b", "x|y z " + more + " "}, true, true},
		{"words do", [2]string{"http://h.test/a", "x" + more}, [2]string{"http://h.test/b", "y" + more}, false, false},
		{"where a word ends does", [2]string{"http://h.test/a", "xy z" + more}, [2]string{"http://h.test/b", "x yz" + more}, false, false},
		{"numbers matter only in the text", [2]string{"http://h.test/a", "12 May" + more}, [2]string{"http://h.test/b", "7 May" + more}, false, true},
		{"nor does their number in a row in a shape", [2]string{"http://h.test/a", "1 2 3" + more}, [2]string{"http://h.test/b", "1 2" + more}, false, true},
		{"own path", [2]string{"http://h.test/a/", "Index of /a/" + more}, [2]string{"http://h.test/a/b/", "Index of /a/b" + more}, true, true},
		{"own URL", [2]string{"http://h.test/x?q=1", "at http://h.test/x?q=1 (h.test/x?q=1, /x?q=1)" + more}, [2]string{"http://h.test/y", "at http://h.test/y (h.test/y, /y)" + more}, true, true},
		{"own URL, decoded", [2]string{"http://h.test/k%C3%A4se", "no /käse" + more}, [2]string{"http://h.test/brot", "no /brot" + more}, true, true},
		{"the root's path", [2]string{"http://h.test/", "Index of / :" + more}, [2]string{"http://h.test/a/", "Index of /a/ :" + more}, true, true},
		{"another page's path stays", [2]string{"http://h.test/a", "see /c" + more}, [2]string{"http://h.test/b", "see /d" + more}, false, false},
		{"own session id", [2]string{"http://h.test/x?s=0123456789abcdef", "id=0123456789abcdef" + more}, [2]string{"http://h.test/x?s=fedcba9876543210", "id=fedcba9876543210" + more}, true, true},
		{"a short value stays", [2]string{"http://h.test/x?s=red", "red" + more}, [2]string{"http://h.test/x?s=blue", "blue" + more}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := digests(t, tt.a), digests(t, tt.b)
			if (a[0] == b[0]) != tt.text || (a[1] == b[1]) != tt.shape {
				t.Errorf("text the same: %t, shape: %t; want %t, %t", a[0] == b[0], a[1] == b[1], tt.text, tt.shape)
			}
		})
	}
}

func TestRule22_PagesDifferByTheirPictures(t *testing.T) {
	const text = "Photographs of the town by the members of our club: previous, next, up"
	a := digests(t, [2]string{"http://h.test/photo/1", text}, "http://h.test/img/1.jpg")
	b := digests(t, [2]string{"http://h.test/photo/2", text}, "http://h.test/img/2.jpg")
	assert.Truef(t, a[0] != b[0] && a[1] != b[1], "%x, %x", a, b)
	const sid = "?sid=0123456789abcdef"
	a = digests(t, [2]string{"http://h.test/x" + sid, text}, "http://h.test/logo.png"+sid)
	b = digests(t, [2]string{"http://h.test/x?sid=fedcba9876543210", text}, "http://h.test/logo.png?sid=fedcba9876543210")
	assert.Equal(t, b, a, "a session id in a picture's URL")
}

func TestDigests_ZeroForFewWords(t *testing.T) {
	assert.EqualValues(t, 0, digests(t, [2]string{"http://h.test/a", "previous next up"})[0])
	d := digests(t, [2]string{"http://h.test/a", "1 2 3 4 5 6 7 8"})
	assert.Truef(t, d[0] != 0, "%x", d)
}

func TestAURLHasFewSessionIDs(t *testing.T) {
	assert.Equal(t, maxIDs, len(ids("/"+strings.Repeat("0123456789abcdef/", 400))), "ids are looked for in each word")
}
