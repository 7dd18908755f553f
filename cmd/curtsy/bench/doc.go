// Package bench measures what crawling costs on this machine: curtsy beside the bare loop, a frontier in memory and other
// crawlers, in rounds that alternate, on a web of crawltest/benchweb that a process of its own serves.
//
//	report, err := bench.Run(ctx, config, say)
//	err = report.WriteText(os.Stdout)
//	return report.Verdict()
//
// What is measured runs in processes of their own, so that processor time and memory are told apart. They are hidden
// commands of the program itself, which Run starts as
//
//	curtsy bench web CONFIG                 Web
//	curtsy bench crawl --stats FILE -- ARGS InMemory, Profile, SaveStats
//	curtsy bench bare | null | parts        Seeds, then Bare, NullRate, MeasureParts
//	curtsy bench frontier --dir DIR         LoadFrontier
//
// so that whoever calls Run must have these commands; cmd/curtsy has them.
//
// The package hides the setups, who is compared with whom and how their command lines are filled in, the sums of the
// rounds, the stages of a profile, and the yardstick that the bare loop is held to. It decides nothing about a crawl.
package bench
