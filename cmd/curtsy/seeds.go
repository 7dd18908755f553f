package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// maxSeedLine is the longest line of a seed file.
const maxSeedLine = 64 << 10

// maxTag is the longest tag: every URL that descends from the seed carries it.
const maxTag = 1 << 10

// maxComplaints is how many bad lines of a seed file are shown; the others are counted.
const maxComplaints = 20

// urlOf reads a URL that stands on the command line.
func urlOf(raw string) (canon.URL, error) {
	u, err := canon.Parse(raw)
	if err == nil {
		return u, nil
	}
	if _, why := crawldir.Seed(raw, ""); why != nil {
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
		c, err := crawldir.Seed(raw, tag)
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
