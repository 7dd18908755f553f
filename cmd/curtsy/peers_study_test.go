//go:build peers

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
)

// study is a crawl of testdata/study.txtar and its update a year later, in virtual time, for docs/guides/recipes.md. Names and dates
// are always the same; keys are not.
func study(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "study")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	data, err := txtar.ParseFile(filepath.Join("testdata", "study.txtar"))
	require.NoError(t, err)
	var sites, later []*crawltest.Site
	for _, f := range data.Files {
		site, err := siteOf(string(f.Data))
		require.NoError(t, err, f.Name)
		if strings.HasPrefix(f.Name, "later/") {
			later = append(later, site)
		} else {
			sites = append(sites, site)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.New(sites...)
		web.StartPipe()
		defer web.Close()
		settings := crawldir.Defaults()
		settings.Agent, settings.Contact = "studybot", "lab@example.edu"
		settings.Scope, settings.MaxPages = "any", 200
		settings.AllowNet = append(settings.AllowNet, web.Net().String())
		var seeds []frontier.Candidate
		for _, s := range [][2]string{
			{"http://news.example.org/", "press"}, {"http://daily.example.org/", "press"},
			{"http://shop.example.com/", "trade"}, {"http://blog.example.net/", "people"},
		} {
			c, err := crawldir.Seed(s[0], s[1])
			require.NoError(t, err)
			seeds = append(seeds, c)
		}
		require.NoError(t, crawldir.CreateUnchecked(t.Context(), dir, &settings, crawldir.Given(seeds)))
		o := crawldir.Options{Unheard: true, Resolve: web.Resolve, Dial: web.Dial}
		_, err := crawldir.Run(t.Context(), dir, o)
		require.NoError(t, err)
		time.Sleep(365 * 24 * time.Hour)
		for _, site := range later {
			changeSite(web, site)
		}
		_, err = crawldir.Update(t.Context(), dir, nil, &settings)
		require.NoError(t, err)
		_, err = crawldir.Run(t.Context(), dir, o)
		require.NoError(t, err)
	})
	return dir
}
