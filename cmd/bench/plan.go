package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler"
	"curtsy/storage/plainly"
)

// The names of contenders in results.
const (
	nameCurtsy = "curtsy"
	nameBare   = "bare"
	nameBareGo = "bare, Go's GC"
	nameModel  = "curtsy, model"

	nameDashboard = "curtsy, dashboard"

	webSeed     = 1
	bareWords   = "the bare loop"
	placeWhence = "{url}, {urls} or {seeds}"
)

// Plan is what is to be measured.
type Plan struct {
	setup      string
	web        WebConfig // the first that curtsy is measured on, and the only one for others
	workers    int
	rounds     int
	memory     int64
	maxBody    int64 // of setup hostile
	dir        string
	version    string
	unset      []string      // variables that hold settings
	profile    string        // folder for profiles of crawls; "" for none
	peerLimit  time.Duration // after which a peer is stopped
	contenders []contender
	unjudged   string // why the bare loop cannot be held against wget2; "" if it is
}

// contender is who is measured.
type contender struct {
	name string
	args []string // of curtsy itself, or of a command; with placeholders
	web  WebConfig
	ours bool // curtsy
	peer bool // a command of somebody else
	seen bool // its dashboard has an audience
}

// crawlArgs are the arguments of the crawl that is measured.
func (p *Plan) crawlArgs(web WebConfig) []string {
	args := []string{"crawl", "--quiet", "--workers", strconv.Itoa(p.workers), "--memory-limit", plainly.Size(p.memory), "--dir", "{dir}", "--seeds", "{seeds}"}
	switch {
	case web.Pace >= crawler.Floor:
		return append(args, "--own-site", "none")
	case web.Pace > 0: // what robots.txt asks for is kept, and no more
		return append(args, "--delay", "0")
	}
	args = append(args, "--delay", "0", "--per-host", strconv.Itoa(web.Width))
	if web.Endless {
		args = append(args, "--max-pages", strconv.Itoa(web.Pages))
	}
	switch p.setup {
	case setupMirror:
		args = append(args, "--mirror")
	case setupHostile:
		args = append(args, "--max-body", plainly.Size(p.maxBody))
	}
	return args
}

func (p *Plan) bareArgs(memory int64) []string {
	most := 0
	if p.web.Endless {
		most = p.web.Pages
	}
	return []string{"bare", "--stats", "{stats}", "--memory-limit", plainly.Size(memory), "--workers", strconv.Itoa(p.workers),
		"--max-pages", strconv.Itoa(most), "--seeds", "{seeds}"}
}

// ownArgs are the arguments of a process that crawls a web.
func (p *Plan) ownArgs(web WebConfig, more ...string) []string {
	args := append([]string{"crawl"}, more...)
	args = append(args, "--stats", "{stats}")
	if p.profile != "" {
		args = append(args, "--profile", "{profile}")
	}
	return append(append(args, "--"), p.crawlArgs(web)...)
}

// meet fills in the contenders.
func (p *Plan) meet(vs []string, webs []webOf) error {
	for _, w := range webs {
		p.contenders = append(p.contenders, contender{name: w.name, args: p.ownArgs(w.web), web: w.web, ours: true})
	}
	for i, whom := range vs {
		var err error
		switch {
		case slices.Contains(vs[:i], whom):
			err = usagef("--vs %s: it is there already", whom)
		case whom == vsNone && len(vs) > 1:
			err = usagef("--vs none excludes other values of --vs")
		case whom == vsNone:
		case whom == vsBare && p.web.Pace > 0:
			err = usagef("--vs bare: it keeps no pace, which --setup %s is about", p.setup)
		case whom == vsBare:
			p.add(contender{name: nameBare, args: p.bareArgs(p.memory)}, contender{name: nameBareGo, args: p.bareArgs(0)})
			p.measureUp()
		case whom == vsModel:
			p.add(contender{name: nameModel, args: p.ownArgs(p.web, "--model"), ours: true})
		case whom == vsDashboard:
			p.add(contender{name: nameDashboard, args: append(p.ownArgs(p.web), "--dashboard", "127.0.0.1:0"), ours: true, seen: true})
		case whom == vsPeers:
			err = p.meetPeers()
		default:
			err = p.meetPeer(whom)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add takes contenders for the first web.
func (p *Plan) add(all ...contender) {
	for _, c := range all {
		c.web = p.web
		p.contenders = append(p.contenders, c)
	}
}

func (p *Plan) has(name string) bool {
	return slices.ContainsFunc(p.contenders, func(c contender) bool { return c.name == name })
}

// measureUp has the bare loop held against wget2.
func (p *Plan) measureUp() {
	yard := p.known(vsWget2)
	switch _, err := exec.LookPath(yard.words[0]); {
	case p.web.Endless:
		p.unjudged = "pages without end keep wget2 busy for ever"
	case p.setup == setupMirror:
		p.unjudged = "wget2 makes its links lead into the tree here"
	case err != nil:
		p.unjudged = "wget2 is not installed"
	case !p.has(nameYard):
		p.add(contender{name: nameYard, args: yard.words, peer: true})
	}
}

// meetPeer takes the name of a peer or a command line.
func (p *Plan) meetPeer(line string) error {
	k := p.known(line)
	if k.name == "" {
		words, err := splitWords(line)
		switch {
		case err != nil:
			return usagef("--vs %q: %w", line, err)
		case len(words) < 2 || !strings.Contains(line, "{url}") && !strings.Contains(line, "{urls}") && !strings.Contains(line, "{seeds}"):
			return usagef("--vs %q: write bare, model, dashboard, peers, none, checkers, %s, or a command line with %s where it is to begin", line, strings.Join(peerNames(), ", "), placeWhence)
		}
		k = peerLine{words: words}
	}
	if p.web.Endless {
		return usagef("--vs %q: the pages of --setup %s have no end, and a peer would not come to one", line, p.setup)
	}
	if _, err := exec.LookPath(k.words[0]); err != nil {
		return usagef("--vs %q: %w", line, err)
	}
	if k.name != "" && p.has(k.name) { // the yardstick of the bare loop
		return nil
	}
	base := k.name
	if base == "" {
		base = strings.TrimSuffix(filepath.Base(k.words[0]), ".exe")
	}
	name := base
	for n := 2; p.has(name); n++ {
		name = fmt.Sprintf("%s (%d)", base, n)
	}
	p.add(contender{name: name, args: k.words, peer: true})
	return nil
}

// splitWords splits a command line at white space; quotes, single or double, keep words together.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
