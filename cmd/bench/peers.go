package main

import (
	_ "embed"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Whom curtsy can be compared with, beside command lines.
const (
	vsBare  = "bare"
	vsModel = "model"

	vsDashboard = "dashboard"

	vsNone    = "none"
	vsPeers   = "peers" // those below that are installed
	vsWget    = "wget"
	vsWget2   = "wget2"
	vsHTTrack = "httrack"
	vsScrapy  = "scrapy"
)

// nameYard is the peer that the bare loop is held against.
const nameYard = "wget2 -r"

// peerLine is a crawler of others, and the line that has it fetch all of a web as fast as it can.
type peerLine struct {
	name  string // in the result
	words []string
}

func peerNames() []string { return []string{vsWget, vsWget2, vsHTTrack, vsScrapy} }

// known is the line of a peer; its name is empty if there is none of that name. In setup mirror each makes a tree whose
// links lead into it, where it can; Scrapy keeps nothing at all.
//
// HTTrack bounds itself to one or a few pages per second, unless all three of -%!, -%c0 and -A0 take that away.
func (p *Plan) known(whom string) peerLine {
	tree := p.setup == setupMirror
	line, name := "", whom
	switch whom {
	case vsWget:
		name, line = "wget -r", "wget -q -r -l inf -H -P {dir} {urls}"
		if tree {
			name, line = "wget -mkEp", "wget -q -m -k -E -p -H -P {dir} {urls}"
		}
	case vsWget2:
		name, line = nameYard, "wget2 -q -r -l inf -H --max-threads {workers} -P {dir} {urls}"
		if tree {
			name, line = "wget2 -mkEp", "wget2 -q -m -k -E -p -H --max-threads {workers} -P {dir} {urls}"
		}
	case vsHTTrack:
		line = "httrack {urls} -O {dir} -q -%! -c{workers} -%c0 -A0 -s0"
	case vsScrapy:
		line = "scrapy runspider {spider} -a seeds={seeds} -s CONCURRENT_REQUESTS={workers} -s CONCURRENT_REQUESTS_PER_DOMAIN={width}"
	default:
		return peerLine{}
	}
	line = strings.NewReplacer("{workers}", strconv.Itoa(p.workers), "{width}", strconv.Itoa(p.web.Width)).Replace(line)
	return peerLine{name, strings.Fields(line)}
}

// meetPeers takes all that are installed; of setup mirror all that make a tree.
func (p *Plan) meetPeers() error {
	names := peerNames()
	if p.setup == setupMirror {
		names = slices.DeleteFunc(names, func(name string) bool { return name == vsScrapy })
	}
	met := false
	for _, name := range names {
		if _, err := exec.LookPath(p.known(name).words[0]); err != nil {
			continue
		}
		if err := p.meetPeer(name); err != nil {
			return err
		}
		met = true
	}
	if !met && p.setup != setupMirror {
		return usagef("--vs peers: none of %s is installed", strings.Join(names, ", "))
	}
	return nil
}

// spider is what Scrapy runs: it follows all links of its hosts, and keeps nothing.
//
//go:embed spider.py
var spider []byte
