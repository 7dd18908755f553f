package extract

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func distinct(most int, open, piece, end string) string {
	var b strings.Builder
	b.WriteString(open)
	for i := 0; b.Len() < most; i++ {
		b.WriteString(strings.ReplaceAll(piece, "@", strconv.FormatInt(int64(i), 36)))
	}
	b.WriteString(end)
	return b.String()
}

func hostileDistinct() map[string]Input {
	const most = MaxParse - 1<<10
	pages := map[string]string{
		"attributes of one tag":     distinct(most, "<p", " z@", ">"),
		"attributes of many tags":   distinct(most, "", "<p z@ y@ x@ w@ v@ u@ t@ s@ r@ q@ o@ n@>", ""),
		"one letter attributes":     distinct(most, "", "<p a b c d e f g h i j k l m n o p q r s t u v w x y z>", ""),
		"attributes behind slashes": distinct(most, "<p", "/z@", ">"),
		"attributes behind quotes":  distinct(most, `<p a=">"`, ` z@=""`, ">"),
		"attributes in svg script":  distinct(most, "<svg><script", " z@", ">"),
		"tags":                      distinct(most, "", "<z@>", ""),
		"classes":                   distinct(most, `<p class="`, "z@ ", `">`),
		"ids":                       distinct(most, "", `<p id=z@>`, ""),
		"link rels":                 distinct(most, "", `<a rel=z@ href=/a>`, ""),
		"one rel of many words":     distinct(most, `<a href=/ rel="`, "z@ ", `">`),
		"meta names":                distinct(most, "", `<meta name=z@ content=@>`, ""),
		"meta robots":               distinct(most, `<meta name=robots content="`, "z@,", `">`),
		"many meta robots":          distinct(most, "", `<meta name=robots content=z@>`, ""),
		"query keys":                distinct(most, `<a href="/?`, "z@=&", `">`),
		"links":                     distinct(most, "", `<a href=/@>`, ""),
		"refused links":             distinct(most, "", `<a href=z@:>`, ""),
		"srcset candidates":         distinct(most, `<img srcset="`, "z@ @w,", `">`),
		"entities":                  distinct(most, "", "&z@;&#@;", ""),
		"texts":                     distinct(most, "", "z@ <!-- -->", ""),
		"comments":                  distinct(most, "", "<!--z@-->", ""),
		"style urls":                distinct(most, "<style>", "a{b:url(z@)}", "</style>"),
		"style attributes":          distinct(most, "", `<p style="b:url(z@)">`, ""),
		"open elements":             distinct(most, "", "<div z@>", ""),
	}
	all := map[string]Input{}
	for name, page := range pages {
		all[name] = Input{ContentType: "text/html", Body: strings.NewReader(page), Size: int64(len(page))}
	}
	for _, name := range []string{"attributes of one tag", "attributes of many tags", "one letter attributes", "entities", "ids", "links"} {
		page := `<html xmlns="http://www.w3.org/1999/xhtml"><body>` + pages[name]
		all[name+", as XML"] = Input{ContentType: "application/xhtml+xml", Body: strings.NewReader(page), Size: int64(len(page))}
	}
	return all
}

// Everything that is ever allocated counts, also garbage.
func TestHostile_DistinctThingsAreBounded(t *testing.T) {
	skipShort(t)
	x, long := New(), os.Getenv("CURTSY_LONG") != ""
	for name, in := range hostileDistinct() {
		if !long && !strings.HasPrefix(name, "attributes") && name != "many meta robots" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			in.URL = parse(t, "http://a.test/")
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			page, err := x.HTML(t.Context(), in)
			require.NoError(t, err)
			runtime.ReadMemStats(&after)
			all := (after.TotalAlloc - before.TotalAlloc) >> 20
			runtime.GC()
			runtime.ReadMemStats(&after)
			kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
			t.Logf("%d MiB in all, %d MiB kept, %d links, %q", all, kept, len(page.Links), page.Unparsed)
			most := uint64(320)
			if name == "style attributes" {
				most = 1800 // a parser for each, one after the other
			}
			if all > most || kept > 4 {
				t.Errorf("%d MiB in all, %d MiB kept", all, kept)
			}
			runtime.KeepAlive(page)
		})
	}
}
