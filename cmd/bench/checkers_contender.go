package main

import (
	_ "embed"
	"os/exec"
	"slices"
	"strings"
)

// checkersContender is a link checker and its command line. URL in it is replaced by the first page, DIR by a folder
// that the checker may write to.
type checkersContender struct {
	name string
	argv []string
	ours bool

	only string // what it says before this is of URLs that are well, too; empty for none
}

// linkcheckerrc lets linkchecker ask as fast as the others, and has it look for fragments.
//
//go:embed linkcheckerrc
var linkcheckerrc []byte

// contenders are all that curtsy is held beside. Each follows robots.txt where it can, prints what is wrong and no more,
// may have eight connections where it can be told, and looks at requisites and fragments where it does. Curtsy is told that
// the site is its user's own, as the others take each to be: it keeps no pace then.
func contenders(self string) []checkersContender {
	return []checkersContender{
		{"curtsy linkcheck", []string{self, "linkcheck", "--json", "--quiet", "--delay", "0", "--per-host", "8", "--dir", "DIR/crawl", "URL"}, true, ""},
		{"wget --spider", strings.Fields("wget --spider -r -l inf -nd -nv -p URL"), false, "\nFound "},
		{"linkchecker", strings.Fields("linkchecker --config=DIR/linkcheckerrc --no-status URL"), false, ""},
		{"muffet", strings.Fields("muffet --buffer-size=65536 --max-connections-per-host=8 --timeout=30 URL"), false, ""},
		{"linkinator", strings.Fields("linkinator --recurse --check-css --check-fragments --concurrency 8 --verbosity error URL"), false, ""},
	}
}

// installed reports whether a checker is there.
func (c checkersContender) installed() bool {
	_, err := exec.LookPath(c.argv[0])
	return err == nil
}

// faults is the part of what it said that is of faults.
func (c checkersContender) faults(said string) string {
	if _, of, ok := strings.Cut(said, c.only); c.only != "" && ok {
		return of
	}
	return said
}

// line is its command line.
func (c checkersContender) line(url, dir string) []string {
	line := slices.Clone(c.argv)
	for i := range line {
		line[i] = strings.NewReplacer("URL", url, "DIR", dir).Replace(line[i])
	}
	return line
}
