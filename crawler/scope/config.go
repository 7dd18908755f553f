package scope

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/hostrule"
	"curtsy/storage/mediatype"
)

// Mode selects the places in scope.
type Mode string

// The modes. The empty Mode means ModeHost.
const (
	ModeHost   Mode = "host"   // the hosts of the seeds: any scheme, "www." ignored
	ModeDomain Mode = "domain" // the registrable domains of the seeds, on any port
	ModePrefix Mode = "prefix" // the hosts of the seeds, and there the URLs under a seed's path up to its last slash
	ModeSeeds  Mode = "seeds"  // only the seeds
	ModeAny    Mode = "any"    // everywhere; callers that offer it require a budget
)

// The values of Config.Requisites. The empty string means RequisitesScope.
const (
	RequisitesScope = "scope" // requisites are judged like links
	RequisitesNone  = "none"  // no requisites
	RequisitesHost  = "host"  // those in scope, and those of a page in scope on the hosts of the seeds
	RequisitesAll   = "all"   // requisites of a page in scope wherever they are, up to 3 steps off the scope
)

// The values of Config.External. The empty string means ExternalNone.
const (
	ExternalNone = "none" // not requested
	ExternalHead = "head" // by HEAD, and by GET where that is refused
	ExternalGet  = "get"  // by GET
)

const requisitesScript = "script"

// SplitRequisites reads a setting: a value of Config.Requisites, optionally followed by ",script" for Config.Scripts. "script"
// leaves the value to the default. Any other setting is returned as it is.
func SplitRequisites(setting string) (which string, scripts bool) {
	if setting == requisitesScript {
		return DefaultRequisites, true
	}
	which, scripts = strings.CutSuffix(setting, ","+requisitesScript)
	if which == RequisitesNone {
		return setting, false
	}
	return which, scripts
}

// Config is the scope set by the operator. The zero Config is the hosts of the seeds, with their requisites.
type Config struct {
	Mode Mode

	// Include and Exclude are unanchored RE2 patterns for the fetch URL. If there is an Include, one pattern must match, except
	// for seeds and their redirects. Exclude wins over everything. Empty patterns are skipped (curtsy update --exclude '').
	Include, Exclude []string

	// Hosts narrow the scope of some hosts by further Include and Exclude.
	Hosts hostrule.Rules

	// Accept and Reject list media types ("image/png", "image/*") and extensions (".pdf", ".tar.gz", in any case). Extensions
	// are checked in the path, types by AcceptType in the response. Accept always includes HTML, which has the links, and
	// paths that may be pages. Reject can reject HTML.
	Accept, Reject []string

	// Requisites selects the images, styles, scripts and frames in scope.
	Requisites string

	// External requests URLs off the scope as leaves, without following links. Depth and Include do not apply to leaves.
	External string

	// Scripts also requests names in scripts and JSON, within the place of the scope.
	Scripts bool

	// Depth is the maximum of links from a seed to a page. Nil means no limit, 0 the seeds and their requisites.
	Depth *int

	// Sample is a share of the hosts or pages in scope. The zero Sample is all.
	Sample Sample

	// Sitemaps puts sitemaps in scope, wherever and however deep they are. Their entries are judged like any URL.
	Sitemaps bool

	// Traps sets the limits of rules "trap:…", with or without the prefix; 0 switches one off. A depth applies in every mode.
	Traps map[string]int
}

// TrapDefaults returns the traps that need only the candidate, and the number from which on each refuses
// (politeness rule 22).
//
//	segments  more than 30 path segments
//	percent   a percent sign that was encoded 2 times or more: %2525
//	repeat    the same path segment 4 times in a row
//	cycle     a cycle of 2 to 4 path segments 4 times in a row
//	depth     more than 20 links from a seed; with ModeAny, unless a number is given
func TrapDefaults() map[string]int {
	return map[string]int{"segments": 30, "percent": 2, "repeat": 4, "cycle": 4, "depth": 20}
}

// The defaults of Config.
const (
	DefaultMode       = ModeHost
	DefaultRequisites = RequisitesScope
)

var (
	modes      = []Mode{ModeHost, ModeDomain, ModePrefix, ModeSeeds, ModeAny}
	requisites = []string{RequisitesScope, RequisitesNone, RequisitesHost, RequisitesAll}
	externals  = []string{ExternalNone, ExternalHead, ExternalGet}
)

// check returns c with defaults, or the first invalid setting.
func (c Config) check() (Config, error) {
	if c.Mode == "" {
		c.Mode = DefaultMode
	}
	if c.Requisites == "" {
		c.Requisites = DefaultRequisites
	}
	if c.External == "" {
		c.External = ExternalNone
	}
	switch {
	case !slices.Contains(externals, c.External):
		return c, fmt.Errorf("scope: external %q: want none, head or get", c.External)
	case !slices.Contains(modes, c.Mode):
		return c, fmt.Errorf("scope: mode %q: want host, domain, prefix, seeds or any", c.Mode)
	case !slices.Contains(requisites, c.Requisites):
		return c, fmt.Errorf("scope: requisites %q: want scope, none, host, all, script or all,script", c.Requisites)
	case c.Depth != nil && *c.Depth < 0:
		return c, fmt.Errorf("scope: depth %d: it is less than 0; leave it out for no limit", *c.Depth)
	}
	return c, nil
}

// traps returns the limit of each trap; 0 is off.
func (c Config) traps() (map[string]int, error) {
	ns := TrapDefaults()
	if c.Mode != ModeAny {
		ns["depth"] = 0
	}
	for name, n := range c.Traps {
		short := strings.TrimPrefix(name, "trap:")
		if _, ok := ns[short]; !ok {
			return nil, fmt.Errorf("scope: trap %q: no such trap; there are cycle, depth, percent, repeat, segments",
				name)
		}
		if n < 0 || n == 1 && (short == "repeat" || short == "cycle") {
			return nil, fmt.Errorf("scope: trap %q: %d is too small; 0 switches the trap off", name, n)
		}
		ns[short] = n
	}
	return ns, nil
}

// compile compiles a list of patterns. Its error names the list, the pattern, and the place in it.
func compile(list string, patterns []string) ([]*regexp.Regexp, error) {
	var res []*regexp.Regexp
	for i, p := range patterns {
		if p == "" {
			continue
		}
		re, err := regexp.Compile(p)
		if err == nil {
			res = append(res, re)
			continue
		}
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			if at := strings.Index(p, e.Expr); at >= 0 {
				return nil, fmt.Errorf("scope: %s pattern %d, %q: at byte %d, %q: %s", list, i+1, p, at+1, e.Expr, e.Code)
			}
		}
		return nil, fmt.Errorf("scope: %s pattern %d, %q: %w", list, i+1, p, err)
	}
	return res, nil
}

func anyMatch(res []*regexp.Regexp, s string) bool {
	for _, re := range res {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// hostPatterns are the patterns of a rule for some hosts.
type hostPatterns struct {
	rule             hostrule.Rule
	include, exclude []*regexp.Regexp
}

func compileHosts(rules hostrule.Rules) (all []hostPatterns, err error) {
	for _, r := range rules {
		p := hostPatterns{rule: r}
		if p.include, err = compile("include of host "+r.Match, r.Include); err != nil {
			return nil, err
		}
		if p.exclude, err = compile("exclude of host "+r.Match, r.Exclude); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (s *Scope) excludedThere(u canon.URL) bool {
	for _, p := range s.hosts {
		if len(p.exclude) > 0 && p.rule.Matches(u.Host()) && anyMatch(p.exclude, u.String()) {
			return true
		}
	}
	return false
}

func (s *Scope) includedThere(u canon.URL) bool {
	for _, p := range s.hosts {
		if len(p.include) > 0 && p.rule.Matches(u.Host()) && !anyMatch(p.include, u.String()) {
			return false
		}
	}
	return true
}

const (
	ruleAccept = "scope:accept"
	ruleReject = "scope:reject"
)

type kinds struct {
	types      []string // "image/png", "image/*"
	extensions []string // ".pdf"
}

func parseKinds(list string, items []string) (kinds, error) {
	var k kinds
	for i, item := range items {
		major, minor, isType := strings.Cut(item, "/")
		switch {
		case isType && isToken(major) && isToken(minor):
			k.types = append(k.types, strings.ToLower(item))
		case len(item) > 1 && item[0] == '.' && !strings.ContainsAny(item, "/?# \t*"):
			k.extensions = append(k.extensions, item)
		default:
			return k, fmt.Errorf("scope: %s %d, %q: write a media type (image/png, image/*) or an extension (.pdf)", list, i+1,
				item)
		}
	}
	return k, nil
}

// isToken reports whether s is a token of RFC 9110 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

func (k kinds) extension(path string) bool {
	for _, x := range k.extensions {
		if n := len(path) - len(x); n > 0 && strings.EqualFold(path[n:], x) {
			return true
		}
	}
	return false
}

func (k kinds) mediaType(t string) bool {
	for _, want := range k.types {
		if strings.EqualFold(want, t) || want == "*/*" && t != "" {
			return true
		}
		if major, ok := strings.CutSuffix(want, "*"); ok && len(t) > len(major) && strings.EqualFold(t[:len(major)], major) {
			return true
		}
	}
	return false
}

// mayBePage reports whether a path may be a page's: its last segment has no extension, or one of pages. Refusing a page would
// cost all its links.
func mayBePage(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return true
	}
	switch x := name[dot+1:]; strings.ToLower(x) {
	case "html", "htm", "xhtml", "xht", "shtml", "shtm", "phtml", "php", "php3", "php4", "php5", "php7", "asp", "aspx",
		"jsp", "jspx", "jsf", "do", "action", "cgi", "pl", "py", "rb", "cfm", "cfml", "nsf", "":
		return true
	default:
		// "/wiki/St._Louis" and "/v1.2": neither names a format.
		return len(x) > 5 || !isAlphanumeric(x) || x[0] >= '0' && x[0] <= '9' && x != "7z"
	}
}

func isAlphanumeric(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

// AcceptType checks a response by Accept and Reject: the value of Content-Type, and the requested path. One without a type is
// accepted.
func (s *Scope) AcceptType(contentType, path string) (ok bool, rule string) {
	t := mediatype.Parse(contentType)
	switch {
	case s.reject.mediaType(t.Name):
		return false, ruleReject
	case len(s.accept.types)+len(s.accept.extensions) == 0, t.Name == "", t.IsHTML():
		return true, ""
	case s.accept.mediaType(t.Name), s.accept.extension(path):
		return true, ruleAccept
	}
	return false, ruleAccept
}
