// Package crawltestcmd is curtsy crawltest: it tries a crawler, ours or any other, on a web that shows its manners.
package crawltestcmd
