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

// temoto lets temoto/robotstxt judge what the case expects under RFC 9309, and counts its differences.
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

// agrees reports whether temoto answers as expected. It knows no Crawl-delay from one of zero.
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

// conformanceDocument writes docs/conformance.md.
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

const conformanceHead = "# What the standards say, and what shows that we do it\n\n" +
	"<!-- Made from testdata/robots by: go test ./robots -run Conformance -update -->\n\n" +
	"| command | what it shows |\n|---|---|\n" +
	"| `go test ./robots -run Corpus` | every case of `testdata/robots/cases`, by this package and by `robots/naive`: verdict and deciding line |\n" +
	"| `go test ./robots -run Corpus/2_2-comments -v` | one of them |\n" +
	"| `go test ./robots -run Conformance` | every sentence below has a case or a test; what is said of temoto is true; this page is up to date (`-update` writes it) |\n" +
	"| `go test ./robots -run Temoto -v` | 20,000 random files, our verdicts and temoto's; how many fall into each class that is set apart |\n" +
	"| `go test ./robots -run RealFiles` | twenty real files under all three standards (`-update` writes `testdata/robots/golden`) |\n" +
	"| `go test ./robots -fuzz FuzzMatchEqualsNaive` | random files against the second reading of the standards |\n" +
	"| `go test ./robots -bench . -run '^$'` | time and allocations, beside temoto's |\n\n" +
	"A case is a text file that needs little code to read; `testdata/robots/README.md` describes it. Any one question can be\n" +
	"asked at the command line, too:\n\n" +
	"```console\n$ printf 'user-agent: *\\ndisallow: /*.gif$\\n' | curtsy robots check --file - --agent curtsy --all-standards https://bakery.test/a.gif/b.gif\n```\n\n"

// writeReaders writes the table of what other readers answer.
func writeReaders(b *bytes.Buffer, cases []corpusCase) {
	b.WriteString("## What others get wrong, and what we answer\n\n" +
		"The column of temoto/robotstxt v1.1.2 is run by the tests: how many of the case's verdicts under RFC 9309 it gives\n" +
		"otherwise. The last column is what google/robotstxt, grobotstxt, protego, crawler-commons and robots-parser did when\n" +
		"they were run or read once while this package was planned. The tests do not run them; later versions may differ.\n\n" +
		"| case | we | temoto | others |\n|---|---|---|---|\n")
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
			if said := c.readers[name]; said != "" && name != "temoto" {
				others = append(others, name+": "+said)
			}
		}
		if len(others) == 0 {
			others = []string{"same"}
		}
		fmt.Fprintf(b, "| %s | %s: %s | %s | %s |\n", cell(c.row), c.link(), cell(c.title), cell(theirs), cell(strings.Join(others, "; ")))
	}
	b.WriteByte('\n')
}

// writeSentences writes the sentences of the documents, and what shows each.
func writeSentences(b *bytes.Buffer, all []sentence, cases []corpusCase) {
	section := ""
	for _, s := range all {
		if s.section != section {
			section = s.section
			fmt.Fprintf(b, "## %s\n\n| sentence | shown by |\n|---|---|\n", section)
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

// writeExclusions writes what is set apart in the comparison with temoto.
func writeExclusions(b *bytes.Buffer) {
	b.WriteString("## The comparison with temoto\n\n" +
		"Random files are judged by both. They must agree, except where an input falls into one of these classes; each has an\n" +
		"example on which temoto/robotstxt v1.1.2 answers otherwise than RFC 9309, and the tests check that it does.\n\n" +
		"| class | temoto | example | asked for |\n|---|---|---|---|\n")
	for _, e := range exclusions() {
		example := fmt.Sprintf("%q", e.file)
		if len(example) > 100 {
			example = example[:40] + "…" + example[len(example)-20:]
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cell(e.name), cell(e.reason), cell("`"+example+"`"), cell("`"+e.target+"`"))
	}
}

func (c corpusCase) link() string {
	return fmt.Sprintf("[%s](../testdata/robots/cases/%s.txt)", c.name, c.name)
}

// cell makes text fit for a table of Markdown. What stands between backticks is code, in which only the bar counts.
func cell(s string) string {
	text := strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`)
	parts := strings.Split(s, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = text.Replace(parts[i])
	}
	return strings.ReplaceAll(strings.Join(parts, "`"), "|", `\|`)
}
