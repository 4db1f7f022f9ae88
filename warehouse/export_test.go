package warehouse

// MergedTotals counts without picking.
var MergedTotals = (*Warehouse).mergedTotals

// MergedRankings reads rankings without picking.
var MergedRankings = (*Warehouse).mergedRankings
