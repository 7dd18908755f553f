package text

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"curtsy/crawler/check"
	"curtsy/storage/plainly"
)

// JUnitMark stands near the beginning of each file that WriteJUnit writes.
const JUnitMark = `<testsuites name="curtsy linkcheck"`

type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int64      `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int64       `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a result as JUnit's XML: a broken URL is a test that failed, and all others are one that passed.
func WriteJUnit(w io.Writer, r *check.Result) error {
	s := junitSuite{Name: "links", Tests: int64(len(r.Broken)) + 1, Failures: len(r.Broken)}
	s.Cases = append(s.Cases, junitCase{Class: "links", Name: plainly.Count(r.Checked, "URL") + " checked"})
	for _, f := range r.Broken {
		var b strings.Builder
		places(&b, f)
		s.Cases = append(s.Cases, junitCase{string(f.Kind), plainly.OneLine(f.URL), &junitFailure{head(f), b.String()}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Name: "curtsy linkcheck", Tests: s.Tests, Failures: s.Failures, Suite: s}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// maxAnnotations is how many annotations are written: GitHub shows ten of a step, and keeps some more.
const maxAnnotations = 50

// Annotations are the broken links as commands that GitHub Actions show beside the lines of files, and of sites, whose
// pages are no files, in the log.
func Annotations(r *check.Result, files bool) string {
	var b strings.Builder
	n := 0
	for _, f := range r.Broken {
		for _, p := range f.On[:min(len(f.On), maxPlaces)] {
			if n++; n > maxAnnotations {
				return b.String()
			}
			message := head(f)
			at := "title=" + property("Broken link")
			if files {
				at = fmt.Sprintf("file=%s,line=%d,col=%d,%s", property(p.Page), p.Line, p.Column, at)
			} else {
				message += fmt.Sprintf(" on %s:%d:%d", plainly.OneLine(p.Page), p.Line, p.Column)
			}
			fmt.Fprintf(&b, "::error %s::%s\n", at, data(message))
		}
	}
	return b.String()
}

// data and property escape what a workflow command would take for its own.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(plainly.OneLine(s))
}
