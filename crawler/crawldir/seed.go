package crawldir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// schemeBytes are what a scheme may consist of (RFC 3986 3.1).
const schemeBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"

// quoted shows what was given as a seed, or its beginning.
func quoted(raw string) string {
	const most = 100
	if len(raw) > most {
		return strconv.Quote(raw[:most]) + "…"
	}
	return strconv.Quote(raw)
}

// Seed reads one seed URL. Unlike a link in a page it must be written out: scheme and host.
func Seed(raw, tag string) (frontier.Candidate, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case !ok || strings.Trim(scheme, schemeBytes) != "":
		hint := ""
		if u, err := canon.Parse("http://" + raw); err == nil && u.Authority().Loopback() {
			hint = fmt.Sprintf("; did you mean http://%s?", raw)
		} else if err == nil && strings.Contains(u.Host(), ".") {
			hint = fmt.Sprintf("; did you mean https://%s?", raw)
		}
		return frontier.Candidate{}, fmt.Errorf("seed %s has no scheme: write it like https://host/path%s", quoted(raw), hint)
	case rest == "" || strings.ContainsAny(rest[:1], `/\?#:`):
		return frontier.Candidate{}, fmt.Errorf("seed %s has no host: write it like https://host/path", quoted(raw))
	}
	u, err := canon.Parse(raw)
	switch {
	case err == nil:
		return frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String(), Tag: tag}, nil
	case canon.ReasonOf(err) == canon.Scheme:
		return frontier.Candidate{}, fmt.Errorf("seed %s: scheme %q is not crawled, only http and https are", quoted(raw), scheme)
	}
	var detail *canon.Error
	if errors.As(err, &detail) && detail.Cause != nil {
		return frontier.Candidate{}, fmt.Errorf("seed %s is not a URL: %w", quoted(raw), detail.Cause)
	}
	return frontier.Candidate{}, fmt.Errorf("seed %s: %s", quoted(raw), canon.ReasonOf(err))
}
