package layout

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestPageName_OfOtherFiles(t *testing.T) {
	for _, media := range []string{"application/octet-stream", "text/plain", "image/png", "application/x-foo", "application/x+xml", "text/x-html", ""} {
		var pages []Page
		for _, p := range append(slices.Clone(hostile), "a.html", "a.HtM", "a.xhtml", "a.XHT", "a.shtml", "a.html.html", "a?b=c.htm", "d.html/", "a%2Ehtml", "a.html%20", "a.html.", "a.ht%6Dl") {
			pages = append(pages, Page{urlOf(t, "http://names.test/"+p), media, p})
		}
		for i, name := range Names(pages, Layout{Kind: Kind(len(media) % 2)}) {
			if slices.Contains([]string{".html", ".htm", ".xhtml", ".xht", ".shtml"}, strings.ToLower(path.Ext(name))) {
				t.Errorf("%s of type %q has the file %s", pages[i].URL, media, name)
			}
		}
	}
}
