package text

import (
	"fmt"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/plainly"
)

// levels say what the levels mean, from the lowest.
var levels = []struct {
	level audit.Level
	words string
	not   string // what is missing for it
}{
	{audit.SelfConsistent, "archive, ledger, index and settings were compared only with one another", ""},
	{audit.SignedByKnown, "only the operator, or someone with the key, can have written it", "give the operator's verifier key, --key"},
	{audit.Lodged, "the operator has not changed or truncated it since", "give a stored checkpoint, --checkpoint, or the key of a witness that cosigned it, --witness-key"},
	{audit.ConfirmedByLog, "the sites' own access logs have the same requests", "give the logs of the sites, --access-log"},
	{audit.NoLevel, "the evidence contradicts itself", ""},
	{audit.LogAlone, "no archive: the result is from the site's own access log", ""},
}

func levelWords(r *audit.Result) string {
	s := string(r.Level)
	if how := how(r, r.Level); how != "" {
		s += ": " + how
	}
	for _, l := range levels {
		if l.level != r.Level.Whole() {
			continue
		}
		s += " (" + l.words
		if l.level == audit.Lodged && redacted(r) != "" {
			s += ", except for redactions, which its entries record"
		}
		s += ")"
	}
	return s
}

// how says how far a level reaches.
func how(r *audit.Result, level audit.Level) string {
	if c := r.Confirmed; c != nil && level == audit.ConfirmedByLog {
		return fmt.Sprintf("%d of %s and %d of %s", c.Hosts, plainly.Count(c.OfHosts, "host"), c.Exchanges, plainly.Count(c.OfExchanges, "request"))
	}
	for _, l := range r.Levels {
		if l.Level.Whole() == level.Whole() {
			return l.How
		}
	}
	return ""
}

// refuted says how the given evidence contradicts a level; "" if it does not.
func refuted(r *audit.Result, level audit.Level) string {
	var all []string
	for _, l := range r.Refuted {
		if l.Level == level {
			all = append(all, l.How)
		}
	}
	all = shorten(all, MaxShown, func(n int) string { return fmt.Sprintf("and %d more", n) })
	agree := 0
	for _, h := range r.Logs {
		if h.Confirmed {
			agree++
		}
	}
	if len(all) > 0 && level == audit.ConfirmedByLog && agree > 0 {
		all = append(all, fmt.Sprintf("%d of %s agree", agree, plainly.Count(int64(len(r.Logs)), "log")))
	}
	return strings.Join(all, "; ")
}

// silentLogs says of each access log that confirms nothing why, after the word "log".
func silentLogs(r *audit.Result) (all []string) {
	if r.Level == audit.LogAlone {
		return nil
	}
	for _, h := range r.Logs {
		if why := h.Silent(); why != "" {
			all = append(all, auditOf(plainly.OneLine(h.Host))+" confirms nothing: "+why)
		}
	}
	return shorten(all, MaxShown, func(n int) string { return fmt.Sprintf("s: %d more confirm nothing", n) })
}

// reached is a level as it was reached, whole or in part.
func reached(r *audit.Result, level audit.Level) audit.Level {
	for _, l := range r.Levels {
		if l.Level.Whole() == level {
			return l.Level
		}
	}
	return level
}

// reach says of each level whether it is reached.
func reach(r *audit.Result) (all []string) {
	if r.Level == audit.LogAlone {
		return nil
	}
	none := r.Level == audit.NoLevel
	for _, l := range levels[:len(levels)-2] {
		switch far, against := how(r, l.level), refuted(r, l.level); {
		case l.level == audit.SelfConsistent && none:
			all = append(all, string(l.level)+": no, the evidence contradicts itself")
		case against != "":
			all = append(all, fmt.Sprintf("%s: refuted: %s", l.level, against))
		case none:
			all = append(all, string(l.level)+": no")
		case far != "":
			all = append(all, fmt.Sprintf("%s: %s", reached(r, l.level), far))
		case l.not == "":
			all = append(all, string(l.level))
		case l.level == audit.ConfirmedByLog && len(silentLogs(r)) > 0:
			all = append(all, fmt.Sprintf("%s: not shown; access log%s", l.level, strings.Join(silentLogs(r), "; access log")))
		default:
			all = append(all, fmt.Sprintf("%s: not shown; %s", l.level, l.not))
		}
	}
	return all
}
