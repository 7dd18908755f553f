package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// schemeOctets are what a scheme may consist of (RFC 3986 3.1).
const schemeOctets = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"

// maxSeedLine is the longest line of a seed file.
const maxSeedLine = 64 << 10

// maxComplaints is how many bad lines of a seed file are shown; the others are counted.
const maxComplaints = 20

// maxQuoted is how many octets of a bad seed a message shows.
const maxQuoted = 100

// quoted shows what was given as a seed.
func quoted(raw string) string {
	if len(raw) > maxQuoted {
		return strconv.Quote(raw[:maxQuoted]) + "…"
	}
	return strconv.Quote(raw)
}

// seed reads one seed URL. Unlike a link in a page it must be written out: scheme and host.
func seed(raw, tag string) (frontier.Candidate, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case !ok || strings.Trim(scheme, schemeOctets) != "":
		hint := ""
		if u, err := url.Parse("https://" + raw); err == nil && strings.Contains(u.Hostname(), ".") {
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
	return frontier.Candidate{}, fmt.Errorf("seed %s: %s", quoted(raw), canon.ReasonOf(err))
}

// readSeeds reads a seed file: one URL per line, optionally a tab and a tag. Bad lines are reported with their number
// and passed over.
func readSeeds(r io.Reader, name string, complain func(string, ...any)) ([]frontier.Candidate, error) {
	var seeds []frontier.Candidate
	lines := bufio.NewReaderSize(r, maxSeedLine)
	for n := 1; ; n++ {
		b, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return seeds, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if more {
			for more && err == nil {
				_, more, err = lines.ReadLine()
			}
			complain("%s:%d: line longer than %d octets, passed over", name, n, maxSeedLine)
			continue
		}
		line := string(b)
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		raw, tag, _ := strings.Cut(line, "\t")
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		c, err := seed(raw, strings.TrimSpace(tag))
		if err != nil {
			complain("%s:%d: %v; line passed over", name, n, err)
			continue
		}
		seeds = append(seeds, c)
	}
}

// collectSeeds reads the seeds of the arguments and of a file, "-" for standard input. A bad argument is an error, a
// bad line of a file is not.
func collectSeeds(args []string, file string, std stdio) ([]frontier.Candidate, error) {
	var seeds []frontier.Candidate
	for _, a := range args {
		c, err := seed(a, "")
		if err != nil {
			return nil, usagef("%w", err)
		}
		seeds = append(seeds, c)
	}
	if file != "" {
		in, name := std.in, "standard input"
		if file != "-" {
			f, err := os.Open(file)
			if err != nil {
				return nil, usagef("seeds: %w", err)
			}
			defer f.Close()
			in, name = f, file
		}
		bad := 0
		more, err := readSeeds(in, name, func(format string, args ...any) {
			if bad++; bad <= maxComplaints {
				fmt.Fprintln(std.err, plain(fmt.Sprintf(format, args...)))
			}
		})
		if err != nil {
			return nil, usagef("seeds: %w", err)
		}
		if bad > maxComplaints {
			fmt.Fprintf(std.err, "%s: %s passed over in all\n", plain(name), several(int64(bad), "line"))
		}
		if seeds = append(seeds, more...); len(more) == 0 {
			return nil, usagef("%s has no usable seed", name)
		}
	}
	if len(seeds) == 0 {
		return nil, usagef("no seed: give a URL, as in curtsy crawl https://example.com/, or --seeds FILE")
	}
	return seeds, nil
}
