package text

import (
	"fmt"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/plainly"
)

// packageWords say what a WACZ file is.
func packageWords(p *audit.PackageCheck) string {
	s := fmt.Sprintf("%d of %s match the manifest", p.Agree, plainly.Count(p.Files, "file"))
	if len(p.Signed) > 0 {
		s += "; signed by " + strings.Join(p.Signed, " and by ")
	} else {
		s += "; no signature holds"
	}
	if p.LeftOut > 0 {
		s += "; " + plainly.Count(p.LeftOut, "record") + " left out by the packer, because the pages have noarchive"
	}
	return s + "."
}

func auditOf(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

func ledgerWords(l *audit.LedgerCheck) string {
	s := fmt.Sprintf("%s in %s of %s; %d of %d records and refusals agree", plainly.Count(l.Lines, "decision"), plainly.Count(l.Segments, "segment"),
		plainly.Count(l.Runs, "run"), l.Agree, l.Records+l.Refusals)
	if l.Files > 0 {
		s += fmt.Sprintf("; %d of %s match it", l.FilesAgree, plainly.Count(l.Files, "file"))
	}
	if l.Redacted > 0 {
		s += "; " + plainly.Count(l.Redacted, "request") + " without the body, redacted by marks"
	}
	if l.Forgotten > 0 {
		s += "; " + plainly.Count(l.Forgotten, "line") + " redacted by marks"
	}
	if l.Head != "" {
		s += "; its last checkpoint is " + l.Head
	}
	switch name, _, _ := strings.Cut(l.Signer, "+"); {
	case name != "" && l.SignerKnown:
		s += ", signed by the key you know, " + name
	case name != "":
		s += ", signed by " + name + ", a signer unknown to you without --key"
	case l.Head != "":
		s += ", not signed"
	}
	for _, d := range l.Lodged {
		switch d.How {
		case audit.ByHead:
			s += "; it has the given checkpoint, " + d.By
		default:
			s += fmt.Sprintf("; %s saw its first %d entries on %s", d.By, d.Size, d.At.UTC().Format(time.DateTime+" UTC"))
		}
	}
	return s + "."
}

func logWords(h *audit.HostLog) string {
	if h.Exchanges == 0 && h.Ours > 0 { // it was judged alone
		return fmt.Sprintf("%s, %d of the crawler; from %s to %s.", plainly.Count(h.Lines, "line"), h.Ours, h.First.UTC().Format(time.DateTime), h.Last.UTC().Format(time.DateTime+" UTC"))
	}
	s := fmt.Sprintf("%s, %d of the crawler; in both: %d of %s", plainly.Count(h.Lines, "line"), h.Ours, h.Agree, plainly.Count(h.Exchanges, "request"))
	if h.Missing > 0 {
		s += fmt.Sprintf("; it lacks %d, or has them with another status", h.Missing)
	}
	if h.Extra > 0 {
		s += fmt.Sprintf("; it has %d more", h.Extra)
	}
	if h.Outside > 0 {
		s += fmt.Sprintf("; %d before or after the archived requests, not judged", h.Outside)
	}
	if h.Unread > 0 {
		s += fmt.Sprintf("; %s unreadable", plainly.Count(h.Unread, "line"))
	}
	return s + "."
}
