package robots

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// corpusCase is a file of testdata/robots/cases. Its format is described beside it.
type corpusCase struct {
	name     string // of the file, without folder and ".txt"
	title    string
	cites    []citation
	row      string            // in the table of differences; empty for none
	readers  map[string]string // their differences
	note     string
	examples []corpusExample
}

type citation struct{ section, quote string }

type corpusExample struct {
	label  string
	body   []byte
	expect []expectation
}

type expectation struct {
	at        int // its line in the case file
	standards []Standard
	agent     string
	target    string // empty if kind is not judged
	kind      string // judged, "delay" or "sitemaps"
	allowed   bool
	line      int
	values    []string // of the other kinds
}

const judged = ""

// otherReaders are those that a case may name, in the order of the table.
var otherReaders = []string{"google", "temoto", "grobotstxt", "protego", "crawler-commons", "robots-parser"}

// corpus reads all cases, and fails if there are too few.
func corpus(tb testing.TB) []corpusCase {
	tb.Helper()
	files, err := filepath.Glob("../testdata/robots/cases/*.txt")
	require.NoError(tb, err)
	require.GreaterOrEqualf(tb, len(files), 50, "found %d case files, %v; want 50 and more", len(files), err)
	var all []corpusCase
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(tb, err)
		c, err := readCase(strings.ReplaceAll(string(text), "\r\n", "\n"))
		require.NoError(tb, err, f)
		c.name = strings.TrimSuffix(filepath.Base(f), ".txt")
		all = append(all, c)
	}
	return all
}

var bodySyntax = regexp.MustCompile(`^--- (escaped )?robots\.txt ?(.*)$`)

// readCase reads a case file. Errors begin with the number of the line.
func readCase(text string) (c corpusCase, err error) {
	c.readers = map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var body *strings.Builder // of the example that is being read; nil in its verdicts
	var escaped bool
	finish := func() error {
		if len(c.examples) > 0 && len(c.examples[len(c.examples)-1].expect) == 0 {
			return fmt.Errorf("a robots.txt without verdicts")
		}
		return nil
	}
	for i, line := range lines {
		opens := bodySyntax.FindStringSubmatch(line)
		switch {
		case opens != nil:
			err = finish()
			escaped = opens[1] != ""
			c.examples = append(c.examples, corpusExample{label: opens[2]})
			body = &strings.Builder{}
		case len(c.examples) == 0:
			err = c.readHead(line)
		case line == "--- verdicts" && body != nil:
			text := body.String()
			if escaped {
				text, err = unescapeCase(text)
			}
			c.examples[len(c.examples)-1].body, body = []byte(text), nil
		case body != nil:
			body.WriteString(line)
			if !escaped {
				body.WriteByte('\n')
			}
		case line != "":
			var e expectation
			e, err = readExpectation(line)
			e.at = i + 1
			last := &c.examples[len(c.examples)-1]
			last.expect = append(last.expect, e)
		}
		if err != nil {
			return c, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	if body != nil || c.title == "" || len(c.cites) == 0 || len(c.examples) == 0 {
		return c, fmt.Errorf("%d: a case needs a title, a citation, and robots.txt with verdicts", len(lines))
	}
	return c, finish()
}

var citationSyntax = regexp.MustCompile(`^([^"]+) "(.+)"$`)

func (c *corpusCase) readHead(line string) error {
	if line == "" {
		return nil
	}
	key, value, ok := strings.Cut(line, ": ")
	switch {
	case !ok:
		return fmt.Errorf("%q is not a line of a head", line)
	case key == "title":
		c.title = value
	case key == "cites":
		m := citationSyntax.FindStringSubmatch(value)
		if m == nil {
			return fmt.Errorf("cites: %q; want document, section and a quotation", value)
		}
		c.cites = append(c.cites, citation{m[1], m[2]})
	case key == "row":
		c.row = value
	case key == "note":
		c.note = value
	case slices.Contains(otherReaders, key):
		c.readers[key] = value
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return nil
}

func readExpectation(line string) (e expectation, err error) {
	f := strings.Fields(line)
	if len(f) < 4 {
		return e, fmt.Errorf("%q: want standards, agent, target, verdict and line", line)
	}
	for name := range strings.SplitSeq(f[0], ",") {
		if name == "all" {
			e.standards = Standards()
			break
		}
		s, err := ParseStandard(name)
		if err != nil {
			return e, err
		}
		e.standards = append(e.standards, s)
	}
	e.agent = f[1]
	if f[2] == "delay" || f[2] == "sitemaps" {
		e.kind, e.values = f[2], f[3:]
		return e, nil
	}
	if f[2] != `""` {
		e.target, err = unescapeCase(f[2])
	}
	e.allowed = f[3] == "allow"
	if len(f) != 5 || !e.allowed && f[3] != "deny" {
		return e, fmt.Errorf("%q: want allow or deny, and a line", line)
	}
	if f[4] != "-" {
		var bad error
		e.line, bad = strconv.Atoi(f[4])
		err = cmp.Or(err, bad)
	}
	if !e.allowed && e.line == 0 {
		return e, fmt.Errorf("%q: no line denies", line)
	}
	return e, err
}

var escapeSyntax = regexp.MustCompile(`\\(?:[nrt\\]|x[0-9A-Fa-f]{2}|\(\d+\*[^)]*\)|)`)

func unescapeCase(s string) (string, error) {
	var err error
	return escapeSyntax.ReplaceAllStringFunc(s, func(e string) string {
		switch {
		case e == `\n`:
			return "\n"
		case e == `\r`:
			return "\r"
		case e == `\t`:
			return "\t"
		case e == `\\`:
			return `\`
		case strings.HasPrefix(e, `\x`):
			c, _ := strconv.ParseUint(e[2:], 16, 8)
			return string([]byte{byte(c)})
		case strings.HasPrefix(e, `\(`):
			times, text, _ := strings.Cut(e[2:len(e)-1], "*")
			n, _ := strconv.Atoi(times)
			return strings.Repeat(text, min(n, 1<<20))
		}
		err = fmt.Errorf("%q holds a \\ that begins no escape", s)
		return ""
	}), err
}
