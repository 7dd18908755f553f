package robots

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/temoto/robotstxt"
)

// temoto runs temoto/robotstxt on the case under RFC 9309, and counts its differences.
func (c corpusCase) temoto() (differ, of int) {
	for _, x := range c.examples {
		theirs, err := robotstxt.FromBytes(x.body)
		for _, e := range x.expect {
			if !slices.Contains(e.standards, RFC9309) {
				continue
			}
			of++
			if err != nil || !agrees(theirs, e) {
				differ++
			}
		}
	}
	return differ, of
}

// agrees reports whether temoto answers as expected. It does not distinguish a missing Crawl-delay from zero.
func agrees(theirs *robotstxt.RobotsData, e expectation) bool {
	switch e.kind {
	case "delay":
		want, _ := time.ParseDuration(e.values[0]) // zero for "none"
		return theirs.FindGroup(e.agent).CrawlDelay == want
	case "sitemaps":
		return slices.Equal(theirs.Sitemaps, e.values)
	}
	return theirs.TestAgent(e.target, e.agent) == e.allowed
}

func conformanceDocument(t *testing.T, all []sentence, cases []corpusCase) []byte {
	var b bytes.Buffer
	b.WriteString(conformanceHead)
	verdicts := 0
	for _, c := range cases {
		for _, x := range c.examples {
			for _, e := range x.expect {
				verdicts += len(e.standards)
			}
		}
	}
	fmt.Fprintf(&b, "There are %d case files with %d expectations, for %d sentences.\n\n", len(cases), verdicts, len(all))
	writeReaders(&b, cases)
	writeSentences(&b, all, cases)
	writeExclusions(&b)
	return b.Bytes()
}

const conformanceHead = "# Conformance with the robots.txt standards\n\n" +
	"Generated from testdata/robots by: go test ./robots -run Conformance -update\n\n" +
	"| command | result |\n|---|---|\n" +
	"| `go test ./robots -run Corpus` | every case of `testdata/robots/cases`, by this package and by `robots/naive`: verdict and deciding line |\n" +
	"| `go test ./robots -run Corpus/2_2-comments -v` | one case |\n" +
	"| `go test ./robots -run Conformance` | every sentence below has a case or a test, and this page is current |\n" +
	"| `go test ./robots -run Temoto -v` | 20,000 random files, compared with temoto's verdicts; the size of each class of differences |\n" +
	"| `go test ./robots -run RealFiles` | twenty real files under all three standards (`-update` writes `testdata/robots/golden`) |\n" +
	"| `go test ./robots -fuzz FuzzMatchEqualsNaive` | random files, compared with the second implementation |\n" +
	"| `go test ./robots -bench . -run '^$'` | time and allocations, beside temoto's |\n\n" +
	"`testdata/robots/README.md` describes the cases, which are text files. You can also test any case on the command line:\n\n" +
	"```console\n$ printf 'user-agent: *\\ndisallow: /*.gif$\\n' | curtsy robots check --file - --agent curtsy --all-standards https://bakery.test/a.gif/b.gif\n```\n\n"

func writeReaders(b *bytes.Buffer, cases []corpusCase) {
	b.WriteString("## Differences from other parsers\n\n" +
		"The tests run temoto/robotstxt v1.1.2; its column counts the verdicts under RFC 9309 that differ. The last column\n" +
		"records one earlier run or reading of google/robotstxt, grobotstxt, protego, crawler-commons and robots-parser;\n" +
		"later versions may differ.\n\n" +
		"| case | curtsy | temoto | others |\n|---|---|---|---|\n")
	for _, c := range cases {
		if c.row == "" {
			continue
		}
		theirs := "same"
		if differ, of := c.temoto(); differ > 0 {
			theirs = fmt.Sprintf("%s (%d of %d)", c.readers["temoto"], differ, of)
		}
		var others []string
		for _, name := range otherReaders {
			if text := c.readers[name]; text != "" && name != "temoto" {
				others = append(others, name+": "+text)
			}
		}
		if len(others) == 0 {
			others = []string{"same"}
		}
		fmt.Fprintf(b, "| %s | %s: %s | %s | %s |\n", cell(c.row), c.link(), cell(c.title), cell(theirs), cell(strings.Join(others, "; ")))
	}
	b.WriteByte('\n')
}

func writeSentences(b *bytes.Buffer, all []sentence, cases []corpusCase) {
	section := ""
	for _, s := range all {
		if s.section != section {
			section = s.section
			fmt.Fprintf(b, "## %s\n\n| sentence | tests |\n|---|---|\n", section)
		}
		var by []string
		for _, c := range cases {
			if slices.ContainsFunc(c.cites, func(q citation) bool { return q.section == s.section && strings.Contains(s.text, q.quote) }) {
				by = append(by, c.link())
			}
		}
		for _, test := range s.tests {
			by = append(by, "`"+test+"`")
		}
		fmt.Fprintf(b, "| %s | %s |\n", cell(s.text), strings.Join(by, ", "))
		if i := slices.IndexFunc(all, func(o sentence) bool { return o.section == s.section && o.text == s.text }); i+1 == len(all) || all[i+1].section != section {
			b.WriteByte('\n')
		}
	}
	b.WriteString("Notes\n\n")
	for _, c := range cases {
		if c.note != "" {
			fmt.Fprintf(b, "- %s: %s\n", c.link(), c.note)
		}
	}
	b.WriteByte('\n')
}

func writeExclusions(b *bytes.Buffer) {
	b.WriteString("## The comparison with temoto\n\n" +
		"Both judge random files and must agree, except in these classes. The tests check that temoto/robotstxt v1.1.2 departs\n" +
		"from RFC 9309 in each example.\n\n" +
		"| class | temoto | example | target |\n|---|---|---|---|\n")
	for _, e := range exclusions() {
		example := fmt.Sprintf("%q", e.file)
		if len(example) > 100 {
			example = example[:40] + "…" + example[len(example)-20:]
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cell(e.name), cell(e.reason), cell("`"+example+"`"), cell("`"+e.target+"`"))
	}
}

func (c corpusCase) link() string {
	return fmt.Sprintf("[%s](../../testdata/robots/cases/%s.txt)", c.name, c.name)
}

// cell escapes text for a table of Markdown. Between backticks only the bar is special.
func cell(s string) string {
	text := strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`)
	parts := strings.Split(s, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = text.Replace(parts[i])
	}
	return strings.ReplaceAll(strings.Join(parts, "`"), "|", `\|`)
}
