package cli

import (
	"strings"

	"curtsy/crawler/crawldir"
	"curtsy/frontier/canon"
)

// URL reads a URL that stands on the command line.
func URL(raw string) (canon.URL, error) {
	u, err := canon.Parse(raw)
	if err == nil {
		return u, nil
	}
	if _, why := crawldir.Seed(raw, ""); why != nil {
		return u, Usagef("%s", strings.Replace(why.Error(), "seed ", "URL ", 1))
	}
	return u, Usagef("%w", err)
}
