// A chain in memory that passes for Base Sepolia.
module.exports = {
  solidity: "0.8.37",
  networks: { hardhat: { chainId: 84532, mining: { auto: true } } },
};
