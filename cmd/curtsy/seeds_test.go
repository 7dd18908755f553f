package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"curtsy/crawler/crawldir"
	"curtsy/frontier"
)

func TestSeedsMustBeWrittenOut(t *testing.T) {
	for _, tt := range []struct{ in, want, bad string }{
		{in: "https://Example.org", want: "https://example.org/"},
		{in: "http://127.0.0.1:8080/a?b#c", want: "http://127.0.0.1:8080/a?b"},
		{in: "ftp://example.org/", bad: `scheme "ftp" is not crawled, only http and https are`},
		{in: "mailto:a@example.org", bad: "has no scheme"},
		{in: "www.example.org/x", bad: "did you mean https://www.example.org/x?"},
		{in: "localhost:8080", bad: "has no scheme"},
		{in: "http://", bad: "has no host"},
		{in: "http:///path", bad: "has no host"},
		{in: "https://?q", bad: "has no host"},
		{in: "https://:80/", bad: "has no host"},
		{in: "", bad: "has no scheme"},
		{in: "http://[::1", bad: "no URL"},
	} {
		c, err := crawldir.Seed(tt.in, "")
		if tt.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("%q: %v; want an error with %q", tt.in, err, tt.bad)
			}
			continue
		}
		if err != nil || c.URL.String() != tt.want || c.Seed != tt.want {
			t.Errorf("%q: %q of seed %q, %v; want %q", tt.in, c.URL, c.Seed, err, tt.want)
		}
	}
}

func TestSeedFileWithBOMTagsCommentsCRLFAndGarbage(t *testing.T) {
	file := "\ufeffhttps://a.example/\tnews\r\n" +
		"# a comment\r\n" +
		"\r\n" +
		"   https://b.example/  \r\n" +
		"not a url\r\n" +
		"ftp://c.example/\tfiles\n" +
		strings.Repeat("x", maxSeedLine+10) + "\n" +
		"https://d.example/\t\t two tabs \n" +
		"https://e.example/" // no new line at the end
	var complaints []string
	var got []frontier.Candidate
	for lines := newSeedLines(strings.NewReader(file)); ; {
		c, err := lines.next()
		var wrong *badLine
		if errors.As(err, &wrong) {
			complaints = append(complaints, wrong.Error())
			continue
		}
		if err != nil {
			break
		}
		got = append(got, c)
	}
	var urls []string
	for _, c := range got {
		urls = append(urls, c.URL.String()+" "+c.Tag)
	}
	want := []string{"https://a.example/ news", "https://b.example/ ", "https://d.example/ two tabs", "https://e.example/ "}
	if !slices.Equal(urls, want) {
		t.Errorf("seeds %q, want %q", urls, want)
	}
	for i, prefix := range []string{"line 5: ", "line 6: ", "line 7: "} {
		if i >= len(complaints) || !strings.HasPrefix(complaints[i], prefix) {
			t.Errorf("complaints %q, want the %dth to begin with %q", complaints, i+1, prefix)
		}
	}
	if len(complaints) != 3 {
		t.Errorf("%d complaints, want 3: %q", len(complaints), complaints)
	}
}

// A file that is no list of seeds at all must not fill the screen.
func TestOfManyBadLinesSomeAreShownAndAllAreCounted(t *testing.T) {
	var errs bytes.Buffer
	file := strings.Repeat("garbage \x1b[31m"+strings.Repeat("x", 5000)+"\n", 500) + "http://127.0.0.1:9/\n"
	got, err := collectSeeds(nil, "-", stdio{In: strings.NewReader(file), Err: &errs})
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if n := strings.Count(errs.String(), "\n"); n != maxComplaints+1 || !strings.Contains(errs.String(), "500 lines passed over in all") {
		t.Errorf("%d lines:\n%.500s", n, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if len(line) > 3*crawldir.MaxQuoted {
			t.Errorf("a line of %d octets: %.300s", len(line), line)
		}
	}
}

func TestASeedFileWithoutAnyUsableSeedIsAnError(t *testing.T) {
	var errs bytes.Buffer
	_, err := collectSeeds(nil, "-", stdio{In: strings.NewReader("garbage\n"), Err: &errs})
	if err == nil || !strings.Contains(err.Error(), "no usable seed") || !strings.Contains(errs.String(), "standard input:1:") {
		t.Errorf("%v, said %q", err, errs.String())
	}
}
