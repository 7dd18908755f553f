package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// schemeOctets are what a scheme may consist of (RFC 3986 3.1).
const schemeOctets = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"

// maxSeedLine is the longest line of a seed file.
const maxSeedLine = 64 << 10

// maxTag is the longest tag: every URL that descends from the seed carries it.
const maxTag = 1 << 10

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
	var detail *canon.Error
	if errors.As(err, &detail) && detail.Cause != nil {
		return frontier.Candidate{}, fmt.Errorf("seed %s is no URL: %w", quoted(raw), detail.Cause)
	}
	return frontier.Candidate{}, fmt.Errorf("seed %s: %s", quoted(raw), canon.ReasonOf(err))
}

// urlOf reads a URL that stands on the command line.
func urlOf(raw string) (canon.URL, error) {
	u, err := canon.Parse(raw)
	if err == nil {
		return u, nil
	}
	if _, why := seed(raw, ""); why != nil {
		return u, usagef("%s", strings.Replace(why.Error(), "seed ", "URL ", 1))
	}
	return u, usagef("%w", err)
}

// badLine is a line of a seed file that is passed over.
type badLine struct {
	n   int64
	why string
}

func (b *badLine) Error() string { return fmt.Sprintf("line %d: %s", b.n, b.why) }

// seedLines reads a seed file: one URL per line, optionally a tab and a tag.
type seedLines struct {
	in *bufio.Reader
	n  int64
}

func newSeedLines(r io.Reader) *seedLines { return &seedLines{in: bufio.NewReaderSize(r, maxSeedLine)} }

// next returns the next seed, a *badLine, io.EOF after the last line, or what is wrong with the reader.
func (l *seedLines) next() (frontier.Candidate, error) {
	for {
		b, more, err := l.in.ReadLine()
		if err != nil {
			return frontier.Candidate{}, err
		}
		l.n++
		if more {
			for more && err == nil {
				_, more, err = l.in.ReadLine()
			}
			return frontier.Candidate{}, &badLine{l.n, fmt.Sprintf("line longer than %d octets, passed over", maxSeedLine)}
		}
		line := string(b)
		if l.n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		raw, tag, _ := strings.Cut(line, "\t")
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		if tag = strings.TrimSpace(tag); len(tag) > maxTag {
			return frontier.Candidate{}, &badLine{l.n, fmt.Sprintf("tag longer than %d octets; line passed over", maxTag)}
		}
		c, err := seed(raw, tag)
		if err != nil {
			return frontier.Candidate{}, &badLine{l.n, err.Error() + "; line passed over"}
		}
		return c, nil
	}
}

// collectSeeds returns the seeds of the arguments and of a file all at once.
func collectSeeds(args []string, file string, std stdio) (seeds []frontier.Candidate, err error) {
	from, err := openSeeds(args, file, false, std)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	for {
		batch, err := from.next()
		if errors.Is(err, io.EOF) {
			return seeds, from.report("")
		}
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, batch...)
	}
}
