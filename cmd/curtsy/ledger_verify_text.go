package main

import (
	"fmt"
	"strings"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/storage/plainly"
	"curtsy/storage/proof"
)

// proofLevels say what the levels mean.
var proofLevels = map[proof.Level]string{
	proof.SelfConsistent: "self-consistent: its parts agree; its author could have forged all of them",
	proof.Signed:         "signed by a key that you know",
	proof.Cosigned:       "cosigned by a witness that you know: it was not rewritten since",
	proof.Confirmed:      "confirmed by the site's own access log",
}

const stamp = "2006-01-02 15:04:05 UTC"

// proofText is the result of a check for a terminal: the verdict, what stands against it, the rest.
func proofText(r *proof.Result) string {
	var b strings.Builder
	host := plainly.OneLine(r.Host)
	if host == "" {
		host = "URLs without a host"
	}
	if r.Holds {
		fmt.Fprintf(&b, "The proof of %s holds.\nLevel reached: %s.\n", host, proofLevels[r.Level])
		if !r.PageChecked {
			b.WriteString("Its index.html was not checked: do not believe that page.\n")
		}
	} else {
		fmt.Fprintf(&b, "The proof of %s does not hold.\n", host)
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "  %s: %s\n", f.Code, plainly.OneLine(f.Text))
		}
		for _, f := range moreFindings(r) {
			fmt.Fprintf(&b, "  %s\n", f)
		}
	}
	b.WriteByte('\n')
	row := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-11s %s\n", label, fmt.Sprintf(format, args...))
	}
	if r.Origin != "" {
		row("log", "%s, of %d entries", plainly.OneLine(r.Origin), r.Size)
	}
	if !r.AsOf.IsZero() {
		row("as of", "%s, by the crawler's clock; %s known; the others are not revealed", r.AsOf.UTC().Format(stamp), plainly.Count(r.Hosts, "host"))
	}
	proofSigners(row, r)
	proofLines(row, r)
	if len(r.CannotShow) > 0 {
		b.WriteString("\nNot shown by this result:\n")
		for _, s := range r.CannotShow {
			fmt.Fprintf(&b, "  %s\n", plainly.OneLine(s))
		}
	}
	return text.Wrap(b.String())
}

// moreFindings are those that were counted and not kept.
func moreFindings(r *proof.Result) (all []string) {
	kept := map[proof.Code]int64{}
	for _, f := range r.Findings {
		kept[f.Code]++
	}
	for _, f := range r.Findings {
		if more := r.Counts[f.Code] - kept[f.Code]; more > 0 {
			all = append(all, fmt.Sprintf("%s: %d more", f.Code, more))
			kept[f.Code] += more
		}
	}
	return all
}

func proofSigners(row func(label, format string, args ...any), r *proof.Result) {
	if len(r.Signers) == 0 && r.Origin != "" {
		row("signer", "none: the checkpoint is not signed")
	}
	for _, s := range r.Signers {
		name := plainly.OneLine(s.Name)
		switch {
		case s.Known && s.Witness:
			row("cosigned", "by %s at %s", name, s.Time.UTC().Format(stamp))
		case s.Witness:
			row("cosigned", "not by %s", name)
		case s.By != "":
			row("signer", "%s, to which the log leads from %s, which you know", name, plainly.OneLine(s.By))
		case s.Known:
			row("signer", "%s, which you know", name)
		default:
			row("signer", "%s: unknown; give --key or --witness-key to compare it with one that you know", name)
		}
	}
}

// upTo says of which part of the log a proof is that it has no other lines, if not of all.
func upTo(r *proof.Result) string {
	if r.Covered >= r.Size-1 {
		return ""
	}
	return fmt.Sprintf(" among its first %d entries", r.Covered)
}

func proofLines(row func(label, format string, args ...any), r *proof.Result) {
	s := r.Summary
	switch {
	case s.Lines == 0 && r.Absent:
		row("lines", "none: the log has no line of this host%s", upTo(r))
		return
	case s.Lines == 0:
		return
	}
	complete := ""
	if r.Holds {
		complete = ", and there are no others" + upTo(r)
	}
	when := ""
	if !s.From.IsZero() {
		when = fmt.Sprintf(", %s to %s", s.From.UTC().Format(time.DateTime), s.To.UTC().Format(stamp))
	}
	row("lines", "%s%s%s", plainly.Count(s.Lines, "line"), complete, when)
	if s.Redacted > 0 {
		row("redacted", "%s removed later, with a record:", plainly.Count(s.Redacted, "line"))
		for _, of := range r.Redaction {
			if of.Lines > 0 {
				row("", "%s: %s: %s", of.Time.UTC().Format(stamp), plainly.Count(of.Lines, "line"), plainly.OneLine(of.Reason))
			}
		}
	}
	row("requests", "%d, of which %d for robots.txt; %d answered", s.Exchanges, s.Robots, s.Answered)
	row("avoided", "%s, %d because of robots.txt", plainly.Count(s.Avoided, "URL"), s.Forbidden)
	if p := s.Pauses; p.Count > 0 {
		below := "none shorter than was due"
		if p.Below > 0 {
			below = fmt.Sprintf("%d shorter than was due", p.Below)
		}
		row("pauses", "%d; shortest %s, median %s; %s", p.Count, plainly.Seconds(p.Shortest.Seconds()), plainly.Seconds(p.Median.Seconds()), below)
	}
	row("robots.txt", "%s; %d recomputed verdicts are right, %d cannot be recomputed", plainly.Count(int64(len(s.Texts)), "text"), r.Robots.Right, r.Robots.Unprovable)
	row("heads", "%d match their lines, %d not in the bundle, %d with lines that cannot confirm them", r.Heads.Right, r.Heads.NotThere, r.Heads.Unprovable)
	if l := r.Log; l != nil {
		row("access log", "%d requests are in both; %d only in the lines, %d only in the log", l.Agree, l.Missing, l.Extra)
		if l.Crash > 0 {
			row("", "%d that are only in the log may have been in flight when a run was killed", l.Crash)
		}
		if rest := l.Uncovered + l.Unanswered + l.Outside; rest > 0 {
			row("", "%d more were outside of what both cover, or not answered", rest)
		}
	}
}
