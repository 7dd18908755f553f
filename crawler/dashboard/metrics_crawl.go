package dashboard

import (
	"maps"
)

// work is what was done, and what is left.
func work() []metric {
	return []metric{
		{"curtsy_crawl_running", "1 while a process runs the crawl and answers, 0 otherwise.", "", func(g *Glance) values {
			return one(yes(g.Running && g.Err == nil))
		}},
		{"curtsy_crawl_state", "1 for the state that the crawl is in, 0 for all others.", "state", states},
		{"curtsy_window_opens_timestamp_seconds", "When the crawl's window opens next (--window); absent while it is open or without one.", "", func(g *Glance) values {
			if !g.Running || g.Status.Opens == nil {
				return nil
			}
			return one(float64(g.Status.Opens.Unix()))
		}},
		{"curtsy_crawl_seen_timestamp_seconds", "When the crawl or its frontier was last read.", "", knownOne(func(g *Glance) float64 {
			return float64(g.At.UnixMilli()) / 1e3
		})},
		{"curtsy_crawl_generation", "Generation of the crawl: each update starts another, and resets the counters.", "", knownOne(func(g *Glance) float64 {
			return float64(g.Status.Generation)
		})},
		{"curtsy_run_seconds", "Duration of this run so far.", "", runningOne(func(g *Glance) float64 { return g.Status.Elapsed })},
		{"curtsy_exchanges_total", "Requests sent, for robots.txt or for URLs including sitemaps.", "kind", knownEach(func(g *Glance) map[string]int64 {
			return map[string]int64{"robots.txt": g.Status.Robots, "url": max(g.Status.Exchanges-g.Status.Robots, 0)}
		})},
		{"curtsy_responses_total", "Responses by class of status code, those for robots.txt included.", "class", func(g *Glance) values {
			if g.At.IsZero() {
				return nil
			}
			v := values{"1xx": 0, "2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0}
			maps.Copy(v, each(g.Status.Answers))
			return v
		}},
		{"curtsy_responses_by_type_total", "2xx responses by media type; rarer types are counted together.", "type", open(func(g *Glance) map[string]int64 {
			return g.Status.Types
		})},
		{"curtsy_pages_by_tag_total", "HTML pages fetched, by the tag of their seed.", "tag", open(func(g *Glance) map[string]int64 {
			return g.Status.Tags
		})},
		{"curtsy_pages_total", "HTML pages fetched.", "", knownOne(func(g *Glance) float64 { return float64(g.Status.Pages) })},
		{"curtsy_received_bytes_total", "Bytes received on connections.", "", knownOne(func(g *Glance) float64 { return float64(g.Status.Bytes) })},
		{"curtsy_urls", "Known URLs, by outcome or queue.", "state", knownEach(urls)},
		{"curtsy_urls_quarantined", "URLs set aside because the process repeatedly died with them.", "", knownOne(func(g *Glance) float64 {
			return float64(g.Status.Quarantined)
		})},
		{"curtsy_links_not_followed_total", "Links not accepted, by rule.", "rule", open(func(g *Glance) map[string]int64 {
			return g.Status.Links
		})},
		{"curtsy_links_capped_total", "Links that a cap dropped, by cap.", "cap", open(func(g *Glance) map[string]int64 { return g.Status.Capped })},
		{"curtsy_failures_total", "Failed requests, robots.txt included, whether or not a retry succeeded, by class.", "class", open(func(g *Glance) map[string]int64 {
			return g.Status.Failures
		})},
		{"curtsy_documents_not_read_total", "Fetched documents whose links are not all known, by reason.", "reason", open(func(g *Glance) map[string]int64 {
			return g.Status.NotRead
		})},
		{"curtsy_sitemaps_total", "Sitemaps read.", "", knownOne(func(g *Glance) float64 { return float64(g.Status.Sitemaps) })},
		{"curtsy_sitemap_entries_total", "Entries of sitemaps, accepted or not.", "", knownOne(func(g *Glance) float64 { return float64(g.Status.Listed) })},
		{"curtsy_estimate_left_seconds", "Minimum time for the URLs known now, from delays and queues.", "", runningOne(func(g *Glance) float64 {
			return g.Estimate.Left.Seconds()
		})},
	}
}

// stateWords are the states of a crawl.
var stateWords = []string{"running", "waiting", "paused", "draining", "stopped", "finished"}

func states(g *Glance) values {
	if g.At.IsZero() {
		return nil
	}
	v := values{}
	for _, word := range stateWords {
		v[word] = yes(word == g.Status.State)
	}
	return v
}

func urls(g *Glance) map[string]int64 {
	s := &g.Status
	return map[string]int64{
		"fetched": s.Fetched, "redirected": s.Redirected, "gone": s.Gone, "failed": s.Failed, "disallowed": s.Disallowed,
		"dropped": s.Dropped, "held": s.Held, "queued": s.Queued, "in_flight": s.InFlight, "deferred": s.Deferred,
	}
}

// hosts is what hosts do, and the rate that they permit.
func hosts() []metric {
	return []metric{
		{"curtsy_hosts", "Known hosts.", "", knownOne(func(g *Glance) float64 { return float64(g.Status.Hosts) })},
		{"curtsy_hosts_left_alone", "Hosts that are not being crawled: parked, retired or given up by the crawl, or held by an operator.", "condition", knownEach(func(g *Glance) map[string]int64 {
			s := &g.Status
			return map[string]int64{"parked": s.Parked, "retired": s.Retired, "refused": s.Refused, "operator": s.Stopped}
		})},
		{"curtsy_hosts_waiting", "Hosts with URLs left, by reason of waiting; among the first 10,000 of the crawl.", "reason", knownEach(func(g *Glance) map[string]int64 {
			w := &g.Waits
			return map[string]int64{
				"in_turn": w.InTurn, "worker": w.Due, "pace": w.Pace, "address": w.Address, "retry": w.Retry, "rest": w.Rest,
				"robots.txt": w.Robots, "operator": w.Operator, "shut": w.Shut,
			}
		})},
		{"curtsy_permitted_exchanges_per_second", "Rate that politeness permits now, from the delays of all hosts with URLs left.", "", runningOne(func(g *Glance) float64 {
			return g.Waits.Permitted
		})},
		{"curtsy_achieved_exchanges_per_second", "Rate over the last ten seconds.", "", runningOne(func(g *Glance) float64 { return g.Rate })},
		{"curtsy_workers", "Maximum concurrent requests.", "", runningOne(func(g *Glance) float64 { return float64(g.Workers) })},
	}
}

// machine is what a crawl takes of its machine.
func machine() []metric {
	return []metric{
		{"curtsy_memory_bytes", "Memory of the crawl's process.", "", runningOne(func(g *Glance) float64 { return float64(g.Memory) })},
		{"curtsy_disk_free_bytes", "Free disk space for the crawling user.", "", func(g *Glance) values {
			if g.Disk.Free == 0 {
				return nil // the system does not say
			}
			return one(float64(g.Disk.Free))
		}},
		{"curtsy_archive_bytes", "Size of the archive.", "", knownOne(func(g *Glance) float64 { return float64(g.Disk.Archive) })},
		{"curtsy_ledger_bytes", "Size of the ledger.", "", knownOne(func(g *Glance) float64 { return float64(g.Disk.Ledger) })},
		{"curtsy_frontier_bytes", "Size of the frontier's file.", "", knownOne(func(g *Glance) float64 { return float64(g.Disk.Frontier) })},
	}
}
