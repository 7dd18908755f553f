// Package phrasebook knows what options of wget, HTTrack and Scrapy are called here. It is one table: the error about an
// unknown flag and docs/guides/coming-from.md both read it.
package phrasebook

import (
	"slices"
	"strings"
)

// Programs whose options are known.
const (
	Wget    = "wget"
	HTTrack = "HTTrack"
	Scrapy  = "Scrapy"
)

// Phrase is how others say something, and how it is said here.
type Phrase struct {
	Theirs []string // options and settings, as they are written there
	Of     string   // the programs that have them
	Ours   string   // a flag with its value ("--scope prefix"), or a command ("curtsy update DIR")
	Note   string   // what is different; may be empty
}

// All returns the table, in the order of the documentation.
func All() []Phrase { return slices.Clone(phrases) }

var phrases = []Phrase{
	// What is crawled.
	{[]string{"--recursive", "-r"}, Wget, "curtsy crawl", "follows links unless you give --depth 0"},
	{[]string{"--level", "-l"}, Wget, "--depth N", "without a limit by default"},
	{[]string{"DEPTH_LIMIT"}, Scrapy, "--depth N", "0 means seeds only, -1 no limit"},
	{[]string{"--no-parent", "-np"}, Wget, "--scope prefix", ""},
	{[]string{"--stay-on-same-dir"}, HTTrack, "--scope prefix", ""},
	{[]string{"--stay-on-same-address"}, HTTrack, "--scope host", "the default"},
	{[]string{"--stay-on-same-domain"}, HTTrack, "--scope domain", ""},
	{[]string{"--span-hosts", "-H"}, Wget, "--scope any", "needs --max-pages or --max-time"},
	{[]string{"--go-everywhere"}, HTTrack, "--scope any", "needs --max-pages or --max-time"},
	{[]string{"--domains", "-D"}, Wget, "--scope domain", "the domains of the seeds; give one seed of each"},
	{[]string{"--allowed-domains"}, Scrapy, "--scope domain", "the domains of the seeds; give one seed of each"},
	{[]string{"--exclude-domains"}, Wget, "--exclude REGEXP", "matched against whole URLs"},
	{[]string{"--accept-regex"}, Wget, "--include REGEXP", "RE2, matched anywhere in the URL"},
	{[]string{"--reject-regex"}, Wget, "--exclude REGEXP", "RE2, matched anywhere in the URL"},
	{[]string{"--include-directories", "-I"}, Wget, "--include REGEXP", ""},
	{[]string{"--exclude-directories", "-X"}, Wget, "--exclude REGEXP", ""},
	{[]string{"-A"}, Wget, "--accept LIST", "media types or extensions"},
	{[]string{"-R"}, Wget, "--reject LIST", "media types or extensions"},
	{[]string{"-p"}, Wget, "--page-requisites all", "curtsy mirror also fetches what scripts name"},
	{[]string{"--near"}, HTTrack, "--page-requisites all", "curtsy mirror also fetches what scripts name"},
	{[]string{"--input-file", "-i"}, Wget, "--seeds FILE", "- for standard input"},
	{[]string{"--list"}, HTTrack, "--seeds FILE", "- for standard input"},
	{[]string{"--follow-sitemaps"}, "wget2", "--sitemaps robots", ""},
	{[]string{"DEPTH_PRIORITY"}, Scrapy, "--order breadth", "or depth"},

	// How it is asked for.
	{[]string{"--wait", "-w", "--random-wait"}, Wget, "--delay TIME", "from the end of a response, per host; at least 1s for third-party hosts"},
	{[]string{"--connection-per-second"}, HTTrack, "--delay TIME", "per host; at least 1s for third-party hosts"},
	{[]string{"DOWNLOAD_DELAY"}, Scrapy, "--delay TIME", "per host; at least 1s for third-party hosts"},
	{[]string{"AUTOTHROTTLE_ENABLED"}, Scrapy, "--delay TIME", "slow hosts always get longer delays"},
	{[]string{"--sockets"}, HTTrack, "--workers N", "one request at a time to each host"},
	{[]string{"--max-threads"}, "wget2", "--workers N", "one request at a time to each host"},
	{[]string{"CONCURRENT_REQUESTS"}, Scrapy, "--workers N", "one request at a time to each host"},
	{[]string{"CONCURRENT_REQUESTS_PER_DOMAIN"}, Scrapy, "--per-host N", "for your own hosts only"},
	{[]string{"--user-agent", "-U"}, Wget + ", " + HTTrack, "--agent TOKEN", "a product token; --contact is for site owners"},
	{[]string{"USER_AGENT", "ROBOTSTXT_USER_AGENT"}, Scrapy, "--agent TOKEN", "a product token; --contact is for site owners"},
	{[]string{"--robots", "ROBOTSTXT_OBEY"}, "wget2, HTTrack, Scrapy", "--robots-standard STANDARD", "robots.txt always applies; this adds stricter readings"},
	{[]string{"--ignore-robots", "--no-robots", "--execute", "-e"}, Wget, "--robots-standard STANDARD", "robots.txt always applies and cannot be disabled; this adds stricter readings"},
	{[]string{"HTTPPROXY_ENABLED"}, Scrapy, "--proxy env", "no proxy is used without this; --proxy URL names one"},
	{[]string{"--bind-address"}, Wget, "--bind ADDRESS", ""},
	{[]string{"--inet4-only"}, Wget, "--ipv4", "or -4"},
	{[]string{"--inet6-only"}, Wget, "--ipv6", "or -6"},
	{[]string{"--ca-certificate"}, Wget, "--ca-file FILE", "trusted in addition to the system's"},
	{[]string{"--no-check-certificate"}, Wget, "--ca-file FILE", "certificates are always checked; this adds a trusted issuer"},
	{[]string{"--http-user", "--http-password", "--user", "--password"}, Wget, "--auth HOST=FILE", "for your own hosts only"},

	// When it ends.
	{[]string{"--quota", "-Q"}, Wget, "--max-bytes SIZE", ""},
	{[]string{"--max-size"}, HTTrack, "--max-bytes SIZE", ""},
	{[]string{"--max-files", "DOWNLOAD_MAXSIZE"}, HTTrack + ", " + Scrapy, "--max-body SIZE", "of one response"},
	{[]string{"CLOSESPIDER_PAGECOUNT"}, Scrapy, "--max-pages N", "HTML pages"},
	{[]string{"CLOSESPIDER_TIMEOUT"}, Scrapy, "--max-time TIME", ""},
	{[]string{"--limit-rate"}, Wget, "--max-rate SIZE", "per second, in all"},
	{[]string{"--advanced-maxlinks"}, HTTrack, "--max-urls N", ""},
	{[]string{"MEMUSAGE_LIMIT_MB"}, Scrapy, "--memory-limit SIZE", ""},
	{[]string{"--spider"}, Wget + ", " + HTTrack, "curtsy linkcheck", "lists broken links and where they are"},

	// Where it goes, and what comes after.
	{[]string{"--directory-prefix", "-P"}, Wget, "--dir DIR", ""},
	{[]string{"--path", "-O"}, HTTrack, "--dir DIR", ""},
	{[]string{"--warc-file", "JOBDIR"}, Wget + ", " + Scrapy, "--dir DIR", "always has the WARC files, and the state for resume"},
	{[]string{"--warc-dedup"}, Wget, "--dedup CDXJ", "or a crawl directory"},
	{[]string{"-m", "--convert-links", "-k", "--adjust-extension", "-E"}, Wget, "curtsy mirror", "makes a copy you can browse, without fetching twice"},
	{[]string{"--continue", "-c", "--no-clobber", "-nc"}, Wget + ", " + HTTrack, "curtsy resume DIR", ""},
	{[]string{"--timestamping", "-N", "--update"}, Wget + ", " + HTTrack, "curtsy update DIR", "makes conditional requests"},
	{[]string{"--no-host-directories", "-nH"}, Wget, "--layout flat", "of curtsy mirror"},
	{[]string{"--purge-old"}, HTTrack, "--vanished remove", "of curtsy mirror"},
	{[]string{"--no-verbose", "-nv", "--nolog"}, Wget + ", " + Scrapy, "--quiet", ""},
	{[]string{"--loglevel", "LOG_LEVEL"}, Scrapy, "--verbose", "prints every decision"},
}

// Find returns how others say what was given: a flag with its dashes, or the name of a setting without. Flags are
// taken as they are; a setting may be written as a flag, too (--download-delay).
func Find(given string) (Phrase, bool) {
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
	return Phrase{}, false
}

// Flag is the name of the flag that Ours is, without its dashes; empty when it is a command.
func (p Phrase) Flag() string {
	name, _, _ := strings.Cut(p.Ours, " ")
	name, ok := strings.CutPrefix(name, "--")
	if !ok {
		return ""
	}
	return name
}

// String says it in a sentence, for whoever wrote one of theirs.
func (p Phrase) String() string {
	if p.Note == "" {
		return "that is " + p.Ours + " here"
	}
	return "that is " + p.Ours + " here (" + p.Note + ")"
}
