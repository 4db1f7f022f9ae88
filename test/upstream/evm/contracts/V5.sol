// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import {Votes} from "@openzeppelin/contracts/governance/utils/Votes.sol";
import {VotesExtended} from "@openzeppelin/contracts/governance/utils/VotesExtended.sol";
import {IVotes} from "@openzeppelin/contracts/governance/utils/IVotes.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Governor} from "@openzeppelin/contracts/governance/Governor.sol";
import {IGovernor} from "@openzeppelin/contracts/governance/IGovernor.sol";
import {GovernorVotes} from "@openzeppelin/contracts/governance/extensions/GovernorVotes.sol";
import {GovernorVotesQuorumFraction} from "@openzeppelin/contracts/governance/extensions/GovernorVotesQuorumFraction.sol";
import {GovernorVotesSuperQuorumFraction} from "@openzeppelin/contracts/governance/extensions/GovernorVotesSuperQuorumFraction.sol";
import {GovernorSuperQuorum} from "@openzeppelin/contracts/governance/extensions/GovernorSuperQuorum.sol";
import {GovernorCountingSimple} from "@openzeppelin/contracts/governance/extensions/GovernorCountingSimple.sol";
import {GovernorCountingFractional} from "@openzeppelin/contracts/governance/extensions/GovernorCountingFractional.sol";
import {GovernorCountingOverridable} from "@openzeppelin/contracts/governance/extensions/GovernorCountingOverridable.sol";
import {GovernorPreventLateQuorum} from "@openzeppelin/contracts/governance/extensions/GovernorPreventLateQuorum.sol";

/// Its votes can be taken back from a delegate. It answers the call of Compound, too.
contract Token is ERC20, ERC20Votes, VotesExtended {
    constructor() ERC20("Quay", "QUAY") EIP712("Quay", "1") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function getPriorVotes(address account, uint256 timepoint) external view returns (uint96) {
        return uint96(getPastVotes(account, timepoint));
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }

    function _delegate(address account, address to) internal override(Votes, VotesExtended) {
        super._delegate(account, to);
    }

    function _transferVotingUnits(address from, address to, uint256 amount) internal override(Votes, VotesExtended) {
        super._transferVotingUnits(from, to, amount);
    }
}

/// Counts seconds, and has 6 decimals.
contract TimeToken is ERC20, ERC20Votes {
    constructor() ERC20("Tide", "TIDE") EIP712("Tide", "1") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function clock() public view override returns (uint48) {
        return uint48(block.timestamp);
    }

    function CLOCK_MODE() public pure override returns (string memory) {
        return "mode=timestamp";
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }
}

abstract contract Base is Governor, GovernorVotes, GovernorVotesQuorumFraction {
    uint256 private immutable unit;

    constructor(IVotes t, uint256 u) Governor("Quay") GovernorVotes(t) GovernorVotesQuorumFraction(4) {
        unit = u;
    }

    function votingDelay() public view override returns (uint256) {
        return 2 * unit;
    }

    function votingPeriod() public view override returns (uint256) {
        return 60 * unit;
    }

    function setNumerator(uint256 n) external {
        _updateQuorumNumerator(n);
    }
}

/// Votes against count towards the quorum.
contract Against is Base, GovernorCountingSimple {
    constructor(IVotes t) Base(t, 1) {}

    function COUNTING_MODE() public pure override(IGovernor, GovernorCountingSimple) returns (string memory) {
        return "support=bravo&quorum=against,for,abstain";
    }

    function _quorumReached(uint256 id) internal view override(Governor, GovernorCountingSimple) returns (bool) {
        (uint256 a, uint256 f, uint256 n) = proposalVotes(id);
        return a + f + n >= quorum(proposalSnapshot(id));
    }
}

/// A voter divides power, and votes with the rest later. The clock counts seconds.
contract Fractional is Base, GovernorCountingFractional {
    constructor(IVotes t) Base(t, 12) {}
}

/// The quorum rises with the votes against, as in Nouns.
contract Dynamic is Base, GovernorCountingSimple {
    constructor(IVotes t) Base(t, 1) {}

    function quorumVotes(uint256 id) public view returns (uint256) {
        (uint256 a,,) = proposalVotes(id);
        return quorum(proposalSnapshot(id)) + a / 2;
    }

    function _quorumReached(uint256 id) internal view override(Governor, GovernorCountingSimple) returns (bool) {
        (, uint256 f, uint256 n) = proposalVotes(id);
        return f + n >= quorumVotes(id);
    }
}

contract Late is Base, GovernorCountingSimple, GovernorPreventLateQuorum {
    constructor(IVotes t) Base(t, 1) GovernorPreventLateQuorum(20) {}

    function proposalDeadline(uint256 id) public view override(Governor, GovernorPreventLateQuorum) returns (uint256) {
        return super.proposalDeadline(id);
    }

    function _tallyUpdated(uint256 id) internal override(Governor, GovernorPreventLateQuorum) {
        super._tallyUpdated(id);
    }
}

contract Super is Base, GovernorCountingSimple, GovernorVotesSuperQuorumFraction {
    constructor(IVotes t) Base(t, 1) GovernorVotesSuperQuorumFraction(50) {}

    function state(uint256 id) public view override(Governor, GovernorVotesSuperQuorumFraction) returns (ProposalState) {
        return super.state(id);
    }

    function proposalVotes(uint256 id) public view override(GovernorCountingSimple, GovernorSuperQuorum) returns (uint256, uint256, uint256) {
        return super.proposalVotes(id);
    }

    function _updateQuorumNumerator(uint256 n) internal override(GovernorVotesQuorumFraction, GovernorVotesSuperQuorumFraction) {
        super._updateQuorumNumerator(n);
    }
}

contract Overridable is Base, GovernorCountingOverridable {
    constructor(IVotes t) Base(t, 1) {}
}
