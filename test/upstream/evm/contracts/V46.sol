// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

import "@openzeppelin/contracts-4.6/token/ERC20/extensions/ERC20Votes.sol";
import "@openzeppelin/contracts-4.6/governance/extensions/GovernorCountingSimple.sol";
import "@openzeppelin/contracts-4.6/governance/extensions/GovernorSettings.sol";
import "@openzeppelin/contracts-4.6/governance/extensions/GovernorVotesQuorumFraction.sol";

contract Token is ERC20Votes {
    constructor() ERC20("Quay", "QUAY") ERC20Permit("Quay") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}

/// Its quorum changes by a numerator, which before 4.7 the contract applies to the past, too.
contract Simple is GovernorSettings, GovernorCountingSimple, GovernorVotesQuorumFraction {
    constructor(IVotes t) Governor("Quay") GovernorSettings(2, 60, 0) GovernorVotes(t) GovernorVotesQuorumFraction(4) {}

    function proposalThreshold() public view override(Governor, GovernorSettings) returns (uint256) {
        return super.proposalThreshold();
    }

    function setNumerator(uint256 n) external {
        _updateQuorumNumerator(n);
    }
}
