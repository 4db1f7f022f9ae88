package warehouse

// TallyMerged counts without picking.
var TallyMerged = (*Warehouse).tallyMerged

// RankMerged reads rankings without picking.
var RankMerged = (*Warehouse).rankMerged
