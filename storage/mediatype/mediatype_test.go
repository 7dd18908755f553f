package mediatype_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/foreigntest"
	"curtsy/storage/mediatype"
)

func text(t mediatype.Type) string { return strings.TrimSpace(t.Name + " " + t.Charset) }

func TestForeignContentTypesAreReadAsBrowsersReadThem(t *testing.T) {
	foreigntest.Run(t, "wpt-mime-types", func(asked []string) string { return text(mediatype.Parse(asked[0])) })
	foreigntest.Run(t, "wpt-content-types", func(asked []string) string {
		return text(mediatype.Of(http.Header{"Content-Type": strings.Split(asked[0], "\n")}))
	})
}

func TestParse_MalformedTypesAsBrowsers(t *testing.T) {
	for value, want := range map[string]string{
		"text/html, text/html":                     "text/html",
		"text/html,text/html;charset=utf-8":        "text/html utf-8",
		"text/html;charset=utf-8,text/html":        "text/html utf-8",
		"text/plain, text/html":                    "text/html", // the last counts
		`text/html; x=",text/plain"`:               "text/html", // the comma is quoted
		`text/html; x="\",text/plain", image/png`:  "image/png", // and so is the quote
		"text/html charset=utf-8":                  "",
		"text/html; charset=utf-8; charset=latin1": "text/html utf-8",
		"html":                    "",
		"Content-Type: text/html": "",
		"; charset=utf-8":         "",
		"text/html;charset=\"utf\x01-8\"; charset=latin1": "text/html latin1", // no value may hold a control octet
		" text/html\t":                          "text/html",
		",text/html,":                           "text/html",
		"text/html, text/":                      "text/html",
		"multipart/x-mixed-replace; boundary=a": "multipart/x-mixed-replace",
		strings.Repeat("a", 127) + "/" + strings.Repeat("b", 127): strings.Repeat("a", 127) + "/" + strings.Repeat("b", 127),
	} {
		assert.Equal(t, want, text(mediatype.Parse(value)), value)
	}
}

func TestIsPage_ByTypeOrFirstBytes(t *testing.T) {
	const html, plain = "\n <!DOCTYPE HTML><p>", "plain text"
	for _, c := range []struct {
		value, head string
		want        bool
	}{
		{"text/html", plain, true}, {"application/xhtml+xml", "", true}, {"text/plain", html, false}, {"text/htmlx", html, false},
		{"nonsense", html, true}, {"", html, true}, {"", plain, false}, {"", "", false}, {"", "%PDF-1.4", false},
		{"*/*", html, true}, {"unknown/unknown", html, true}, {"application/unknown", html, true}, {"text/html text/html", html, true},
	} {
		assert.Equalf(t, c.want, mediatype.Parse(c.value).IsPage([]byte(c.head)), "%q with %q", c.value, c.head)
	}
}

func TestTheTypesOfMostAnswersNeedNoMemory(t *testing.T) {
	for _, value := range []string{"text/html", "text/html; charset=utf-8", "text/plain"} {
		b := []byte(value)
		n := testing.AllocsPerRun(100, func() { mediatype.Name(b); mediatype.Parse(value) })
		assert.Truef(t, n == 0, "%q: %v allocations", value, n)
	}
}

// For any header, Parse and Name agree, a name is a media type, and parsing again changes nothing.
func FuzzType(f *testing.F) {
	for _, name := range []string{"wpt-mime-types", "wpt-content-types"} {
		_, cases, err := foreigntest.Read(name)
		require.NoError(f, err)
		for _, c := range cases {
			f.Add(strings.ReplaceAll(c.Asked[0], "\n", ", "))
		}
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := mediatype.Parse(value)
		name := mediatype.Name([]byte(value))
		assert.Truef(t, name == got.Name, "%q: %q by its octets, %q as text", value, name, got.Name)
		if strings.ContainsAny(got.Name, " ,;\"\x00\r\n") || got.Name != strings.ToLower(got.Name) || len(got.Name) > 255 || got.Name == "" && got.Charset != "" {
			t.Errorf("%q: %+v", value, got)
		}
		assert.Equalf(t, (mediatype.Type{Name: got.Name}), mediatype.Parse(got.Name), "%q: %q, and again", value, got.Name)
		again := mediatype.Parse(got.String())
		assert.Falsef(t, again != got && again.Charset != "", "%q: %q is read as %+v", value, got, again)
		twice := mediatype.Parse(value + "," + got.Name)
		assert.Falsef(t, strings.Count(value, `"`) == 0 && twice.Name != got.Name, "%q: parsed again it is %q", value, twice.Name)
	})
}
