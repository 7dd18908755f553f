package crawltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReach_RequisitesOfOtherFiles(t *testing.T) {
	web := New(&Site{Name: "a.test", Pages: map[string]Page{
		"/":               {Embeds: []string{"/s/a.css", "/m.webmanifest", "/i.svg", "/t.txt", "/gone.css"}},
		"/s/a.css":        {Body: "@import 'b.css';", Embeds: []string{"b.css"}},
		"/s/b.css":        {Body: "@import 'a.css'; p { background: url(c.png) }", Embeds: []string{"a.css", "c.png"}, Links: []string{"/no"}},
		"/s/c.png":        {Body: "c"},
		"/m.webmanifest":  {Body: "{}", Embeds: []string{"/icon.png"}},
		"/icon.png":       {Body: "i"},
		"/i.svg":          {Body: "<svg/>", Embeds: []string{"/tile.png"}},
		"/tile.png":       {Body: "t"},
		"/t.txt":          {Body: "t", Embeds: []string{"/no"}},
		"/gone.css":       {Status: 404, Body: "x", Embeds: []string{"/no"}},
		"/no":             {},
		"/linked-by-none": {},
	}})
	got := web.Reach("curtsy")
	want := []string{"/", "/gone.css", "/i.svg", "/icon.png", "/m.webmanifest", "/s/a.css", "/s/b.css", "/s/c.png", "/t.txt", "/tile.png"}
	for i := range want {
		want[i] = "http://a.test" + want[i]
	}
	assert.Equal(t, want, got)
}
