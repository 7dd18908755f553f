package canon

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReason_OfEveryRefusal(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Reason
	}{
		{"", Malformed},
		{"   ", Malformed},
		{"example.com/a", Malformed},
		{"//example.com/a", Malformed},
		{"://example.com/", Malformed},
		{"1http://example.com/", Malformed},
		{"http\u017f://example.com/", Malformed}, // long s, which folds to s in Unicode
		{"http://h:65536/", Malformed},
		{"http://h:99999999999999999999/", Malformed},
		{"http://h:-1/", Malformed},
		{"http://h:8a/", Malformed},
		{"http://h:80:80/", Malformed},
		{"http://a b/", Malformed},

		{"ftp://example.com/", Scheme},
		{"mailto:a@example.com", Scheme},
		{"javascript:void(0)", Scheme},
		{" DATA:text/plain,a", Scheme},
		{"file:///etc/passwd", Scheme},
		{"ws://h/", Scheme},
		{"ht\ttps+x:", Scheme},
		{"localhost:8080", Scheme},
		{`C:\a`, Scheme},
		{"data:" + strings.Repeat("A", 1<<20), Scheme},

		{"http:", NoHost},
		{"http://", NoHost},
		{"http:////", NoHost},
		{"http://?a", NoHost},
		{"http://#a", NoHost},
		{"http://:80/", NoHost},
		{"http://user:pass@/", NoHost},
		{"http://user@:80/", NoHost},

		{"http://h/" + strings.Repeat("a", MaxLength-9+1), TooLong},
		{"http://h/" + strings.Repeat("é", MaxLength/6), TooLong},
		{"http://h/?" + strings.Repeat("a", 1<<20), TooLong},
		{"http://h/" + strings.Repeat("a/../", maxInput/5), TooLong}, // short when resolved, but not read that far
		{strings.Repeat("a", 1<<20), TooLong},
	} {
		u, err := Parse(tt.in)
		got := ReasonOf(err)
		assert.Truef(t, got == tt.want && u.IsZero(), "Parse(%.60q) = %.60q, %.100v; want %s", tt.in, u, err, tt.want)
	}
}

func TestRule22_8192OctetsAreAccepted(t *testing.T) {
	path := strings.Repeat("a", MaxLength-len("http://h/"))
	for _, in := range []string{
		"http://h/" + path,
		"http://h:80/" + path, // longer as written
		"http://user:password@h/./b/../" + path + "#" + strings.Repeat("f", 1<<20),
	} {
		u, err := Parse(in)
		assert.Truef(t, err == nil && len(u.String()) == MaxLength, "%.40s…: %d octets, %v", in, len(u.String()), err)
	}
}

func TestParse_InputFarTooLongIsNotRead(t *testing.T) {
	long := "http://h/" + strings.Repeat("é/../", 1<<20)
	allocs := testing.AllocsPerRun(10, func() {
		_, err := Parse(long)
		require.True(t, ReasonOf(err) == TooLong, err)
	})
	assert.Truef(t, allocs <= 2, "%v allocations to refuse %d octets; want the error and its excerpt", allocs, len(long))
}

func TestReasonOf_WrappedForeignAndNone(t *testing.T) {
	_, err := Parse("ftp://h/")
	assert.Equal(t, Scheme, ReasonOf(fmt.Errorf("seeds: line 3: %w", err)), "wrapped")
	assert.Empty(t, ReasonOf(errors.New("x")), "foreign")
	assert.Empty(t, ReasonOf(nil), "nil")
}

func TestError_TextIsSafeForATerminal(t *testing.T) {
	for _, in := range []string{
		"x\x1b]0;title\x07\x1b[2J",
		"http://\x1b[31m/",
		"http://xn--\u202e\u009b1m.example/",
		"http://a%1b%5b2J%E2%80%AE.example/",
		"http://" + strings.Repeat("\u202e", 300) + "/",
		"http://xn--a" + strings.Repeat("\u202eb", 100) + "/",
		"http://" + strings.Repeat("\u0627a", 250) + "/",
		"\xff\xfe\x9b:",
		"gopher:" + strings.Repeat("\x1b", 1<<20),
	} {
		_, err := Parse(in)
		require.Errorf(t, err, "%q was accepted", in)
		text := err.Error()
		for _, r := range text {
			assert.Truef(t, r >= ' ' && (0x7f > r || r > 0x9f) && r != '\u202e' && r != '\ufffd', "%.60q: the text holds %U: %q", in, r, text)
		}
		if e := err.(*Error); len(e.URL) > maxShown || len(text)-len(strconv.Quote(e.URL)) > maxShown+100 {
			t.Errorf("%.60q: the URL has %d octets, the text %d", in, len(e.URL), len(text))
		}
	}
}

func TestError_NamesFault(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:x/":  `canon: "http://h:x/": malformed: the port is not a number up to 65535`,
		"ftp://h/":     `canon: "ftp://h/": scheme`,
		"a/b":          `canon: "a/b": malformed: no scheme, and no base to resolve it against`,
		"http://a..b/": `canon: "http://a..b/": malformed: the host has a label that is empty or over 63 bytes`,
	} {
		_, err := Parse(in)
		got := fmt.Sprint(err)
		assert.Truef(t, got == want, "got  %s\nwant %s", got, want)
	}
}
