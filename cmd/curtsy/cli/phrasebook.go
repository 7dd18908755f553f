// This file knows what options of wget, HTTrack and Scrapy are called here. It is one table: the error about an
// unknown flag and docs/guides/coming-from.md both read it.

package cli

import (
	"slices"
	"strings"
)

// Programs whose options are known.
const (
	wget    = "wget"
	htTrack = "HTTrack"
	scrapy  = "Scrapy"
)

// phrase is how others say something, and how it is said here.
type phrase struct {
	Theirs []string // options and settings, as they are written there
	Of     string   // the programs that have them
	Ours   string   // a flag with its value ("--scope prefix"), or a command ("curtsy update DIR")
	Note   string   // how curtsy differs; may be empty
}

// All returns the table, in the order of the documentation.
func All() []phrase { return slices.Clone(phrases) }

var phrases = []phrase{
	// Scope.
	{[]string{"--recursive", "-r"}, wget, "curtsy crawl", "follows links unless you give --depth 0"},
	{[]string{"--level", "-l"}, wget, "--depth N", "without a limit by default"},
	{[]string{"DEPTH_LIMIT"}, scrapy, "--depth N", "0 means seeds only, -1 no limit"},
	{[]string{"--no-parent", "-np"}, wget, "--scope prefix", ""},
	{[]string{"--stay-on-same-dir"}, htTrack, "--scope prefix", ""},
	{[]string{"--stay-on-same-address"}, htTrack, "--scope host", "the default"},
	{[]string{"--stay-on-same-domain"}, htTrack, "--scope domain", ""},
	{[]string{"--span-hosts", "-H"}, wget, "--scope any", "needs --max-pages or --max-time"},
	{[]string{"--go-everywhere"}, htTrack, "--scope any", "needs --max-pages or --max-time"},
	{[]string{"--domains", "-D"}, wget, "--scope domain", "the domains of the seeds; give one seed of each"},
	{[]string{"--allowed-domains"}, scrapy, "--scope domain", "the domains of the seeds; give one seed of each"},
	{[]string{"--exclude-domains"}, wget, "--exclude REGEXP", "matched against whole URLs"},
	{[]string{"--accept-regex"}, wget, "--include REGEXP", "RE2, matched anywhere in the URL"},
	{[]string{"--reject-regex"}, wget, "--exclude REGEXP", "RE2, matched anywhere in the URL"},
	{[]string{"--include-directories", "-I"}, wget, "--include REGEXP", ""},
	{[]string{"--exclude-directories", "-X"}, wget, "--exclude REGEXP", ""},
	{[]string{"-A"}, wget, "--accept LIST", "media types or extensions"},
	{[]string{"-R"}, wget, "--reject LIST", "media types or extensions"},
	{[]string{"-p"}, wget, "--page-requisites all", "curtsy mirror also fetches what scripts name"},
	{[]string{"--near"}, htTrack, "--page-requisites all", "curtsy mirror also fetches what scripts name"},
	{[]string{"--input-file", "-i"}, wget, "--seeds FILE", "- for standard input"},
	{[]string{"--list"}, htTrack, "--seeds FILE", "- for standard input"},
	{[]string{"--follow-sitemaps"}, "wget2", "--sitemaps robots", ""},
	{[]string{"DEPTH_PRIORITY"}, scrapy, "--order breadth", "or depth"},

	// How it is asked for.
	{[]string{"--wait", "-w", "--random-wait"}, wget, "--delay TIME", "from the end of a response, per host; at least 1s for third-party hosts"},
	{[]string{"--connection-per-second"}, htTrack, "--delay TIME", "per host; at least 1s for third-party hosts"},
	{[]string{"DOWNLOAD_DELAY"}, scrapy, "--delay TIME", "per host; at least 1s for third-party hosts"},
	{[]string{"AUTOTHROTTLE_ENABLED"}, scrapy, "--delay TIME", "slow hosts always get longer delays"},
	{[]string{"--sockets"}, htTrack, "--workers N", "one request at a time to each host"},
	{[]string{"--max-threads"}, "wget2", "--workers N", "one request at a time to each host"},
	{[]string{"CONCURRENT_REQUESTS"}, scrapy, "--workers N", "one request at a time to each host"},
	{[]string{"CONCURRENT_REQUESTS_PER_DOMAIN"}, scrapy, "--per-host N", "for your own hosts only"},
	{[]string{"--user-agent", "-U"}, wget + ", " + htTrack, "--agent TOKEN", "a product token; --contact is for site owners"},
	{[]string{"USER_AGENT", "ROBOTSTXT_USER_AGENT"}, scrapy, "--agent TOKEN", "a product token; --contact is for site owners"},
	{[]string{"--robots", "ROBOTSTXT_OBEY"}, "wget2, HTTrack, Scrapy", "--robots-standard STANDARD", "robots.txt always applies; this adds stricter readings"},
	{[]string{"--ignore-robots", "--no-robots", "--execute", "-e"}, wget, "--robots-standard STANDARD", "robots.txt always applies and cannot be disabled; this adds stricter readings"},
	{[]string{"HTTPPROXY_ENABLED"}, scrapy, "--proxy env", "no proxy is used without this; --proxy URL names one"},
	{[]string{"--bind-address"}, wget, "--bind ADDRESS", ""},
	{[]string{"--inet4-only"}, wget, "--ipv4", "or -4"},
	{[]string{"--inet6-only"}, wget, "--ipv6", "or -6"},
	{[]string{"--ca-certificate"}, wget, "--ca-file FILE", "trusted in addition to the system's"},
	{[]string{"--no-check-certificate"}, wget, "--ca-file FILE", "certificates are always checked; this adds a trusted issuer"},
	{[]string{"--http-user", "--http-password", "--user", "--password"}, wget, "--auth HOST=FILE", "for your own hosts only"},

	// When it ends.
	{[]string{"--quota", "-Q"}, wget, "--max-bytes SIZE", ""},
	{[]string{"--max-size"}, htTrack, "--max-bytes SIZE", ""},
	{[]string{"--max-files", "DOWNLOAD_MAXSIZE"}, htTrack + ", " + scrapy, "--max-body SIZE", "of one response"},
	{[]string{"CLOSESPIDER_PAGECOUNT"}, scrapy, "--max-pages N", "HTML pages"},
	{[]string{"CLOSESPIDER_TIMEOUT"}, scrapy, "--max-time TIME", ""},
	{[]string{"--limit-rate"}, wget, "--max-rate SIZE", "per second, in total"},
	{[]string{"--advanced-maxlinks"}, htTrack, "--max-urls N", ""},
	{[]string{"MEMUSAGE_LIMIT_MB"}, scrapy, "--memory-limit SIZE", ""},
	{[]string{"--spider"}, wget + ", " + htTrack, "curtsy linkcheck", "lists broken links and where they are"},

	// Where it goes, and what comes after.
	{[]string{"--directory-prefix", "-P"}, wget, "--dir DIR", ""},
	{[]string{"--path", "-O"}, htTrack, "--dir DIR", ""},
	{[]string{"--warc-file", "JOBDIR"}, wget + ", " + scrapy, "--dir DIR", "always has the WARC files, and the state for resume"},
	{[]string{"--warc-dedup"}, wget, "--dedup CDXJ", "or a crawl directory"},
	{[]string{"-m", "--convert-links", "-k", "--adjust-extension", "-E"}, wget, "curtsy mirror", "makes a copy you can browse, without fetching twice"},
	{[]string{"--continue", "-c", "--no-clobber", "-nc"}, wget + ", " + htTrack, "curtsy resume DIR", ""},
	{[]string{"--timestamping", "-N", "--update"}, wget + ", " + htTrack, "curtsy update DIR", "makes conditional requests"},
	{[]string{"--no-host-directories", "-nH"}, wget, "--layout flat", "of curtsy mirror"},
	{[]string{"--cut-dirs"}, wget, "--cut-dirs N", "of curtsy mirror; needs --layout flat"},
	{[]string{"--purge-old"}, htTrack, "--vanished remove", "of curtsy mirror"},
	{[]string{"--no-verbose", "-nv", "--nolog"}, wget + ", " + scrapy, "--quiet", ""},
	{[]string{"--loglevel", "LOG_LEVEL"}, scrapy, "--verbose", "prints every decision"},
}

// Find returns how others say what was given: a flag with its dashes, or the name of a setting without. Flags are
// taken as they are; a setting may be written as a flag, too (--download-delay).
func Find(given string) (phrase, bool) {
	for _, p := range phrases {
		if slices.Contains(p.Theirs, given) {
			return p, true
		}
	}
	setting := strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(given, "--"), "-", "_"))
	for _, p := range phrases {
		if slices.Contains(p.Theirs, setting) || slices.Contains(p.Theirs, "--"+strings.ReplaceAll(strings.ToLower(given), "_", "-")) {
			return p, true
		}
	}
	return phrase{}, false
}

// Flag is the name of the flag that Ours is, without its dashes; empty when it is a command.
func (p phrase) Flag() string {
	name, _, _ := strings.Cut(p.Ours, " ")
	name, ok := strings.CutPrefix(name, "--")
	if !ok {
		return ""
	}
	return name
}

// String says it in a sentence, for whoever wrote one of theirs.
func (p phrase) String() string {
	if p.Note == "" {
		return "that is " + p.Ours + " here"
	}
	return "that is " + p.Ours + " here (" + p.Note + ")"
}
